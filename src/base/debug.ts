/** Messages for whoever runs the process: errors of user code if HOLDFAST_DEBUG is set, and warnings. */
import { inspect } from 'node:util'

/** Characters that a terminal interprets, except line breaks. */
const CONTROLS = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/gu

const OFF: readonly string[] = ['', '0', 'false']

/** Prints the error with its stack to standard error. Secrets are not removed. `what`: such as `a request failed`. */
export function reportFailure(what: string, error: unknown): void {
  process.stderr.write(visible(`holdfast: ${what}: ${inspect(error)}\n`))
}

/**
 * Prints the error to standard error if HOLDFAST_DEBUG is not empty, 0 or false. Secrets are not removed.
 *
 * @param who the subject of the sentence, capitalised: `The tool order`
 */
export function debugThrown(who: string, error: unknown): void {
  if (OFF.includes(process.env['HOLDFAST_DEBUG'] ?? '')) return
  const text = `holdfast: ${who} threw ${inspect(error)}\n`
  process.stderr.write(visible(text))
}

const warned = new Set<string>()
const MOST_WARNINGS = 100

/** A warning of the process, with code HOLDFAST; each text once. */
export function warnOnce(text: string): void {
  if (warned.has(text) || warned.size >= MOST_WARNINGS) return
  warned.add(text)
  process.emitWarning(visible(text), { code: 'HOLDFAST' })
}

function visible(text: string): string {
  return text.replace(CONTROLS, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`)
}
