/** Colours, or none: for people at a terminal who have not said that they want none. */

export interface Style {
  readonly enabled: boolean
  readonly bold: Paint
  readonly dim: Paint
  readonly red: Paint
  readonly green: Paint
  readonly yellow: Paint
  readonly cyan: Paint
}

export type Paint = (text: string) => string

export interface ColourWish {
  readonly isTTY: boolean
  readonly env: Readonly<Record<string, string | undefined>>
  /** `--no-color` was given. */
  readonly off?: boolean
}

/** `--no-color` comes first, then FORCE_COLOR, then NO_COLOR, then whether it is a terminal at all. */
export function wantsColour({ isTTY, env, off = false }: ColourWish): boolean {
  if (off) return false
  const forced = env['FORCE_COLOR']
  if (forced !== undefined) return forced !== '0' && forced !== 'false'
  if (env['NO_COLOR']) return false
  return isTTY && env['TERM'] !== 'dumb'
}

export function styleFor(enabled: boolean): Style {
  return {
    enabled,
    bold: paint(enabled, 1, 22),
    dim: paint(enabled, 2, 22),
    red: paint(enabled, 31, 39),
    green: paint(enabled, 32, 39),
    yellow: paint(enabled, 33, 39),
    cyan: paint(enabled, 36, 39),
  }
}

function paint(enabled: boolean, on: number, off: number): Paint {
  return (text) => (enabled && text !== '' ? `\x1b[${on}m${text}\x1b[${off}m` : text)
}
