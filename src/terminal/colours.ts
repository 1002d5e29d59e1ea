/** The decision for or against colours. */

export interface ColourOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  /** `--no-color`. */
  readonly off?: boolean
}

/** `--no-color` decides first, then FORCE_COLOR, then NO_COLOR, then `isTTY`. */
export function wantsColour(isTTY: boolean, { env, off = false }: ColourOptions): boolean {
  if (off) return false
  const forced = env['FORCE_COLOR']
  if (forced !== undefined) return forced !== '0' && forced !== 'false'
  if (env['NO_COLOR']) return false
  return isTTY && env['TERM'] !== 'dumb'
}
