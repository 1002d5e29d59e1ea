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
  return agreed(objects.length > 0 ? objects : wordsIn(text))
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
  const missing = textsIn(unmet ?? criteria)
  return [{ verified: verified && missing.length === 0, unmet: missing, evidence: textsIn(evidence) }]
}

function textsIn(value: Json | undefined): string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  return list.filter((each): each is string => typeof each === 'string' && each.trim() !== '')
}

const WORDS = /^[\s*_#>`"-]*(not[_ -]?)?verified[*_`"]*\s*:[*_`"]*[ \t]*(.*)$/gim

function wordsIn(text: string): Verdict[] {
  return [...text.matchAll(WORDS)].map(({ 1: not, 2: first = '', index, 0: line }) => {
    const rest = (first + text.slice(index + line.length)).trim()
    const said = rest === '' ? [] : [rest]
    return not === undefined
      ? { verified: true, unmet: [], evidence: said }
      : { verified: false, unmet: said, evidence: [] }
  })
}

function agreed([first, ...others]: readonly Verdict[]): Verdict | undefined {
  return others.every(({ verified }) => verified === first?.verified) ? first : undefined
}
