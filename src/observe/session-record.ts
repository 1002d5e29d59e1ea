/** One turn of a session file, computed from the turn's entries. */
import { type Call, traceOf, transcript } from '../journal/index.ts'
import {
  type ContextKey,
  type Entry,
  type EntryData,
  LOCAL_OWNER,
  replyText,
  type TraceEntry,
  type Usage,
} from '../protocol/index.ts'
import { namedOwner } from './log-place.ts'
import { yamlJson, yamlList, yamlNumber, yamlText } from './yaml.ts'

/** `usage`: what the turn has used, if its end is not among the entries. */
export interface RecordedTurn {
  readonly turn: number
  readonly entries: readonly Entry[]
  /** Calls of earlier turns that it goes on with. */
  readonly calls: readonly Pick<Call, 'callId' | 'tool'>[]
  readonly usage?: Usage
}

/** The conversation comes first, so that the beginning of a file names it. */
export function sessionHeader({
  key,
  agent,
  model,
  started,
}: {
  readonly key: ContextKey
  readonly agent: string
  readonly model: string
  readonly started: number
}): string {
  const at = new Date(started).toISOString()
  return `${conversationLines(key)}agent: ${yamlText(agent)}\nmodel: ${yamlText(model)}\nstarted: ${yamlText(at)}\nturns:\n`
}

function conversationLines(key: ContextKey): string {
  const owner = Object.entries(namedOwner(key) ?? {}).map(([name, value]) => `${name}: ${yamlText(value)}\n`)
  return `conversation: ${yamlText(key.contextId)}\n${owner.join('')}`
}

const CONVERSATION = /^conversation: "([^"]+)"\n(?:tenant: "([^"]+)"\nactor: "([^"]+)"\n)?agent: /

/** The conversation of a session file, by the beginning of its text; undefined for any other file. */
export function sessionKey(text: string): ContextKey | undefined {
  const [, contextId, tenant = LOCAL_OWNER.tenant, actor = LOCAL_OWNER.actor] = CONVERSATION.exec(text) ?? []
  return contextId === undefined ? undefined : { tenant, actor, contextId }
}

/** An item of the list `turns`. */
export function sessionTurn({ turn, entries, calls, usage }: RecordedTurn): string {
  const trace = traceOf(entries, { turn })
  const end = trace.findLast((one) => one.type === 'turn_result')
  const tokens = usage ? usage.inputTokens + usage.outputTokens : tokensOf(end)
  const fields = {
    input: yamlText(inputOf(entries, trace)),
    model: yamlText(trace.findLast((one) => one.type === 'llm_call')?.model ?? ''),
    duration_ms: yamlNumber(end?.duration_ms ?? spanOf(entries, turn)),
    tokens: yamlNumber(tokens),
    cost: yamlNumber(usage?.costUsd ?? end?.usage.cost ?? 0),
    tools_called: yamlList(toolsCalled(trace, calls)),
    result: yamlText(resultOf(entries, trace)),
    messages: yamlJson(transcript(entries)),
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`)
  return `  - ${lines.join('\n    ')}\n`
}

/** The messages that the turn took; without one, the answers. */
function inputOf(entries: readonly Entry[], trace: readonly TraceEntry[]): string {
  const messages = trace.flatMap((one) => (one.type === 'user_input' ? [one.prompt] : []))
  if (messages.length > 0) return messages.join('\n')
  const answers = entries.flatMap(({ type, data }) => (type === 'request.end' ? (data['value'] ?? []) : []))
  return answers.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join('\n')
}

function toolsCalled(trace: readonly TraceEntry[], calls: RecordedTurn['calls']): string[] {
  const earlier = new Map(calls.map(({ callId, tool }) => [callId, tool]))
  return trace.flatMap((one) =>
    one.type === 'tool_execution' ? [one.tool_name || (earlier.get(one.call_id) ?? '')] : [],
  )
}

function tokensOf(end: Extract<TraceEntry, { type: 'turn_result' }> | undefined): number {
  return end === undefined ? 0 : end.usage.input_tokens + end.usage.output_tokens
}

function spanOf(entries: readonly Entry[], turn: number): number {
  const own = entries.filter((entry) => entry.turn === turn)
  return (own.at(-1)?.at ?? 0) - (own[0]?.at ?? 0)
}

/** The last text of the turn; without one, why it failed or what it asks. */
function resultOf(entries: readonly Entry[], trace: readonly TraceEntry[]): string {
  const last = entries.findLast(({ type }) => type === 'model.end')
  const { content = [] } = (last?.data ?? {}) as Partial<EntryData['model.end']>
  const text = replyText(content)
  const end = trace.findLast((one) => one.type === 'turn_result')
  if (end?.error !== undefined) return `${end.reason}: ${end.error}`
  if (text !== '' || end?.reason === 'stop') return text
  const asked = trace.flatMap((one) => (one.type === 'request' && one.how === undefined ? [one.prompt] : []))
  return asked.join('\n') || (end?.reason ?? '')
}
