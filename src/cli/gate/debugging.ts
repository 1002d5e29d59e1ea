/** Whether HOLDFAST_DEBUG asks for stacks and warnings: set to anything but 0 or false. */
export function isDebugging(env: Readonly<Record<string, string | undefined>>): boolean {
  return !['', '0', 'false'].includes(env['HOLDFAST_DEBUG'] ?? '')
}
