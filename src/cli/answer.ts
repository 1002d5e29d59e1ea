/** Checks typed answers before they are posted, and reads JSON from typed text. */
import type { Json, RequestData } from 'holdfast'
import { optionText } from 'holdfast/tool'

/** The problem with an answer that no agent would accept, if there is one. */
export function problemWith({ kind, options = [], about }: RequestData, answer: Json): string | undefined {
  if (kind === 'confirmation' && typeof answer !== 'boolean' && !isVerdict(answer))
    return 'Type yes or no; "no, too many" adds a reason, "stop" ends the turn. Press Enter to answer later.'
  if (isScoped(answer) && !Array.isArray(about?.['grants']))
    return 'Nothing is offered beyond this call: type yes or no.'
  if (kind !== 'choice') return undefined
  const offered = options.map(optionText)
  const chosen = Array.isArray(answer) ? (answer as readonly Json[]) : [answer]
  const unknown = chosen.find((each) => !offered.includes(optionText(each)))
  return unknown === undefined ? undefined : `${optionText(unknown)} is no option.`
}

function isScoped(answer: Json): boolean {
  return typeof answer === 'object' && answer !== null && 'scope' in answer && answer.scope !== 'once'
}

function isVerdict(answer: Json): boolean {
  return typeof answer === 'object' && answer !== null && 'approved' in answer
}

/** The JSON value, or the text itself if it is no JSON. */
export function jsonFrom(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
