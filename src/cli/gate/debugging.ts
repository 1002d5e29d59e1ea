/** HOLDFAST_DEBUG enables stacks and warnings: any value but 0 and false. */
export function isDebugging(env: Readonly<Record<string, string | undefined>>): boolean {
  return !['', '0', 'false'].includes(env['HOLDFAST_DEBUG'] ?? '')
}
