/** Reads the verdict in a verifier's reply: a JSON object, or the words of a model that gives none. */
import type { Json, JsonObject } from '../../protocol/index.ts'
import { jsonIn } from '../../turn/index.ts'

export interface Verdict {
  readonly verified: boolean
  /** The requirements that are not met. */
  readonly unmet: readonly string[]
  readonly evidence: readonly string[]
}

/**
 * Undefined if the reply has no verdict, or two that differ. `VERIFIED:` and `NOT_VERIFIED:` at the start of a line count
 * where there is no JSON. A verdict that names unmet requirements is not verified, whatever else it says.
 */
export function verdictIn(text: string): Verdict | undefined {
  const found = jsonIn(text)
  const objects = 'values' in found ? found.values.flatMap(verdictsIn) : []
  const verdict = agreed(objects.length > 0 ? objects : wordsIn(text))
  return verdict?.verified && DENIAL.test(besideJson(text)) ? undefined : verdict
}

/** Anywhere beside a verdict that says the opposite; `not {…}` denies what follows. */
const DENIAL = /\bnot[_ -]?verified\b|\bnot\W{0,9}\{/i

/** The text around the first and the last brace. */
function besideJson(text: string): string {
  const [start, end] = [text.indexOf('{'), text.lastIndexOf('}')]
  return start < 0 || end < start ? text : `${text.slice(0, start)}{}${text.slice(end + 1)}`
}

/** One text for the model that plans again. */
export function feedbackOf({ verified, unmet, evidence }: Verdict): string {
  const parts = [
    verified ? 'VERIFIED' : 'NOT_VERIFIED',
    ...unmet.map((each) => `- not met: ${each}`),
    ...evidence.map((each) => `- evidence: ${each}`),
  ]
  return parts.join('\n')
}

function verdictsIn(value: Json): Verdict[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  const { verified, unmet, unmet_criteria: criteria, evidence } = value as JsonObject
  if (typeof verified !== 'boolean') return []
  const missing = [unmet, criteria].flatMap(textsIn)
  return [{ verified: verified && missing.length === 0, unmet: missing, evidence: textsIn(evidence) }]
}

/** A value that is no text counts as JSON: a requirement may be an object. */
function textsIn(value: Json | undefined): string[] {
  const list = (Array.isArray(value) ? value : [value]) as readonly (Json | undefined)[]
  return list
    .filter((each) => !isEmpty(each))
    .map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))
}

function isEmpty(value: Json | undefined): boolean {
  if (typeof value === 'string') return value.trim() === ''
  return (
    value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0)
  )
}

/**
 * No name in quotes: JSON that is cut off or broken is no verdict in words. Blanks before it stay in its line: from each of many
 * empty lines, all the others would take the square of their number.
 */
const WORDS = /^(?:[^\S\n]|[*_#>`"-])*(not[_ -]?)?verified[*_`]*\s*:[*_`]*[ \t]*(.*)$/gim
/** `^` begins a line after these, too. */
const OTHER_LINE_ENDS = /\r\n?|[\u2028\u2029]/g
/** `Verified: false` is the value of a field, in place of a reason. */
const FALSE = /^false\b[.\s]*/i
/** The words after `VERIFIED:` deny it, or might: `No tests pass`, `No problems`. */
const DENIED = /^\W*(?:(?:no|not|none|never|fail\w*)\b|unmet\w*\W*:)|^[❌✗✘]/iu
/** So does a line after it. */
const UNMET = /^[^\w\n]*unmet\w*[^\w\n]*:/imu

function wordsIn(written: string): Verdict[] {
  const text = written.replaceAll(OTHER_LINE_ENDS, '\n')
  const found = [...text.matchAll(WORDS)].map(({ 1: not, 2: first = '', index, 0: line }) => {
    const rest = (first + text.slice(index + line.length)).trim()
    const isFalse = FALSE.test(rest)
    const said = isFalse ? rest.replace(FALSE, '') : rest
    return { verified: not === undefined && !isFalse, said }
  })
  const claims = found.filter(({ verified }) => verified)
  // The words after the first one end with those after the others.
  if (claims.some(({ said }) => DENIED.test(said)) || UNMET.test(claims[0]?.said ?? '')) return []
  return found.map(({ verified, said }) => {
    const texts = textsIn(said)
    return { verified, unmet: verified ? [] : texts, evidence: verified ? texts : [] }
  })
}

function agreed([first, ...others]: readonly Verdict[]): Verdict | undefined {
  return others.every(({ verified }) => verified === first?.verified) ? first : undefined
}
