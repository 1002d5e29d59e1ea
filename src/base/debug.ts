/** Prints errors of user code to standard error if HOLDFAST_DEBUG is not empty, 0 or false. Secrets are not removed. */
import { inspect } from 'node:util'

/** Characters that a terminal interprets, except line breaks. */
const CONTROLS = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/gu

const OFF: readonly string[] = ['', '0', 'false']

/** @param who the subject of the sentence, capitalised: `The tool order` */
export function debugThrown(who: string, error: unknown): void {
  if (OFF.includes(process.env['HOLDFAST_DEBUG'] ?? '')) return
  const text = `holdfast: ${who} threw ${inspect(error)}\n`
  process.stderr.write(text.replace(CONTROLS, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`))
}
