/** Reads the answers of `--answer`, checks typed ones before they are posted, and reads JSON from typed text. */
import type { Json, RequestData } from 'holdfast'
import { answerFrom, optionText } from 'holdfast/tool'
import { shellWord } from './arguments.ts'
import { EXIT } from './exit-code.ts'
import { Refusal, wrongUsage } from './refusal.ts'
import { oneLine } from './terminal/text.ts'

/** An id before `=`; JSON and sentences with a `=` are values. */
const UNKNOWN_ID = /^([^=\s"{[]+)=/

/** The answers of `--answer`, each ID=VALUE, or VALUE if one request is open. Throws if one fits no open request. */
export function answersFrom(
  requests: readonly RequestData[],
  args: readonly string[],
): Readonly<Record<string, Json>> {
  const open = requests.map(({ requestId, prompt }) => `\n  ${requestId}  ${oneLine(prompt)}`).join('')
  const waiting = `Waiting:${open}`
  const [only, ...others] = requests
  const pairs = args.map((text): [string, Json] => {
    const named = requests.find(({ requestId }) => text.startsWith(`${requestId}=`))
    if (named !== undefined) return [named.requestId, checked(named, text.slice(named.requestId.length + 1))]
    const [, id] = UNKNOWN_ID.exec(text) ?? []
    if (id !== undefined) throw wrongUsage(`Nothing waits for ${JSON.stringify(id)}. ${waiting}`)
    if (only === undefined || others.length > 0)
      throw wrongUsage(`--answer ${JSON.stringify(text)} must be ID=VALUE. ${waiting}`)
    return [only.requestId, checked(only, text)]
  })
  const answers = new Map(pairs)
  if (answers.size < pairs.length) throw wrongUsage(`Give one --answer for each request. ${waiting}`)
  return Object.fromEntries(answers)
}

function checked(request: RequestData, text: string): Json {
  const answer = answerFrom(request, text)
  const problem = request.kind === 'confirmation' ? problemWith(request, answer) : undefined
  if (problem === undefined) return answer
  const message = `--answer ${JSON.stringify(text)} does not answer ${request.requestId}. ${problem}`
  throw new Refusal(message, { exitCode: EXIT.usage, code: 'invalid-answer' })
}

/** The option that answers a request, to be copied. */
export function answerOption({ kind, requestId }: RequestData, isOnly: boolean): string {
  const hint = kind === 'confirmation' ? 'yes' : kind === 'data' ? '{"…":"…"}' : '…'
  return `--answer ${shellWord(isOnly ? hint : `${requestId}=${hint}`)}`
}

export const YES_OR_NO = 'Type yes or no; "no, too many" adds a reason, "stop" ends the turn.'

/** The problem with an answer that no agent would accept, if there is one. */
export function problemWith({ kind, options = [], about }: RequestData, answer: Json): string | undefined {
  if (kind === 'confirmation' && typeof answer !== 'boolean' && !isVerdict(answer)) return YES_OR_NO
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
