/** Shows where errors of user code come from, on standard error, if HOLDFAST_DEBUG is set. Secrets are not removed. */
import { inspect } from 'node:util'

/** Everything that a terminal could obey but line breaks. */
const CONTROLS = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/gu

/** @param who as a sentence begins: `The tool order` */
export function debugThrown(who: string, error: unknown): void {
  if (!process.env['HOLDFAST_DEBUG']) return
  const text = `holdfast: ${who} threw ${inspect(error)}\n`
  process.stderr.write(text.replace(CONTROLS, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`))
}
