/**
 * Makes a legal transcript of a history (R9), with ids of our own (R10). Pure: the same history gives the same
 * messages, and a legal transcript stays as it is.
 */
import {
  type AssistantPart,
  absentFile,
  defined,
  fileProblem,
  fileTitle,
  type Message,
  quote,
  type ToolCallPart,
  type ToolResultPart,
  type UserContent,
} from '../../protocol/index.ts'
import type { ForeignCall, ForeignPart, HistoryItem } from './foreign.ts'
import { type Note, type PairedCall, pairUp } from './pair.ts'

/** Precedes a history that begins with a reply: models require a user message first. */
const OPENING = '[This conversation was imported. What it began with is not known.]'
const NO_RESULT = 'The imported history has no result of this call. It is not known whether it ran.'

export interface Repaired {
  readonly messages: readonly Message[]
  readonly system?: string
}

/** `model`: the replying model, for replies that do not name it. */
export function repair(
  items: readonly HistoryItem[],
  { note, model }: { note: Note; model?: string },
): Repaired {
  const { system, rest } = withoutSystem(items, note)
  const calls = pairUp(rest, note)
  const ids = nameCalls(calls, note)
  const rounds = Map.groupBy(calls, ({ index }) => index)
  const messages: Message[] = []
  for (const [index, one] of rest.entries()) {
    if (one.kind === 'user') {
      const content = withoutBlanks(withFiles(one.content, (why) => note(one.at, 'file-unreadable', why)))
      if (content === undefined) note(one.at, 'empty-dropped', 'An empty message was left out.')
      else messages.push({ role: 'user', content, ...defined({ by: one.by }) })
    } else if (one.kind === 'assistant') {
      messages.push(...replyMessages(one, { calls: rounds.get(index) ?? [], ids, note, model }))
    } else if (one.kind === 'results' && one.results.length === 0)
      note(one.at, 'empty-dropped', 'A message without any result was left out.')
  }
  const [first] = messages
  if (first !== undefined && first.role !== 'user') {
    note(0, 'opening-added', 'The history begins with a reply, so a user message was put before it.')
    messages.unshift({ role: 'user', content: OPENING, by: 'program' })
  }
  return system === '' ? { messages } : { messages, system }
}

/** Leading system messages are the prompt. Later ones become notes to the model at their position. */
function withoutSystem(
  items: readonly HistoryItem[],
  note: Note,
): { system: string; rest: readonly HistoryItem[] } {
  const begin = items.findIndex(({ kind }) => kind !== 'system')
  const end = begin < 0 ? items.length : begin
  const system = items
    .slice(0, end)
    .flatMap((one) => (one.kind === 'system' && one.text !== '' ? [one.text] : []))
  const rest = items.slice(end).map((one): HistoryItem => {
    if (one.kind !== 'system') return one
    if (one.text.trim() === '') return { kind: 'user', at: one.at, content: '' }
    note(one.at, 'system-noted', 'A system message between others was kept as a note in brackets.')
    return { kind: 'user', at: one.at, content: `[System: ${one.text}]`, by: 'program' }
  })
  return { system: system.join('\n\n'), rest }
}

/** Replaces an unreadable file by a text; repairs lone surrogates in its name. */
function withFiles(content: UserContent, note: (text: string) => void): UserContent {
  if (typeof content === 'string') return content
  return content.map((part) => {
    if (part.type !== 'file') return part
    const { name: original, ...rest } = part
    const name = original?.toWellFormed().trim()
    const file = { ...rest, ...(name ? { name } : {}) }
    const problem = fileProblem(file)
    if (problem === undefined) return name === original ? part : file
    note(`${fileTitle(file)} was left out: ${problem}`)
    return absentFile(file)
  })
}

/** Drops blank texts; undefined if nothing is left. */
function withoutBlanks(content: UserContent): UserContent | undefined {
  if (typeof content === 'string') return content.trim() === '' ? undefined : content
  const parts = content.filter((part) => part.type === 'file' || part.text.trim() !== '')
  return parts.length === 0 ? undefined : parts
}

/** Assigns ids by position; keeps our own, unless another call has it. */
function nameCalls(calls: readonly PairedCall[], note: Note): ReadonlyMap<ForeignCall, string> {
  const reserved = new Set(calls.flatMap(({ call }) => call.callId ?? []))
  const used = new Set<string>()
  const foreign = new Set<string>()
  const ids = new Map<ForeignCall, string>()
  for (const [index, { call, at }] of calls.entries()) {
    if (call.id !== undefined && foreign.has(call.id))
      note(
        at,
        'id-repeated',
        `The id ${quote(call.id)} names several calls; they are distinguished by their order.`,
      )
    if (call.id !== undefined) foreign.add(call.id)
    let number = index + 1
    while (reserved.has(`import-${number}`)) number += calls.length
    const isOurs = call.callId !== undefined && !used.has(call.callId)
    const id = isOurs ? (call.callId ?? '') : `import-${number}`
    used.add(id)
    ids.set(call, id)
  }
  return ids
}

interface ReplyContext {
  readonly calls: readonly PairedCall[]
  readonly ids: ReadonlyMap<ForeignCall, string>
  readonly note: Note
  readonly model: string | undefined
}

function replyMessages(item: Extract<HistoryItem, { kind: 'assistant' }>, context: ReplyContext): Message[] {
  const model = item.model ?? context.model
  const content = item.parts.flatMap((part) => replyPart(part, { model, ids: context.ids }))
  if (model === undefined && item.parts.some(({ provider }) => provider !== undefined))
    context.note(
      item.at,
      'provider-data-dropped',
      'Provider data of a reply was left out: it may go back only to the model that replied, and the history does not name it.',
    )
  if (content.length === 0) {
    context.note(item.at, 'empty-dropped', 'An empty message was left out.')
    return []
  }
  const reply: Message = { role: 'assistant', content, ...defined({ model }) }
  const results = context.calls.map((call) => resultPart(call, context))
  return results.length === 0 ? [reply] : [reply, { role: 'tool', content: results }]
}

/** The part with its own id, without data that must not be kept; empty if nothing is left. */
function replyPart(
  part: ForeignPart,
  { model, ids }: { model: string | undefined; ids: ReadonlyMap<ForeignCall, string> },
): AssistantPart[] {
  const provider = model === undefined || part.provider === undefined ? {} : { provider: part.provider }
  if (part.type === 'tool-call') return [callPart(part, { callId: ids.get(part) ?? '', ...provider })]
  const hasText = part.type === 'text' ? part.text.trim() !== '' : part.text !== '' || 'provider' in provider
  return hasText ? [{ type: part.type, text: part.text, ...provider }] : []
}

function callPart(call: ForeignCall, own: Pick<ToolCallPart, 'callId' | 'provider'>): ToolCallPart {
  const { tool, args, providerId, malformed } = call
  return {
    type: 'tool-call',
    tool,
    args,
    ...defined({ providerId, malformed }),
    ...own,
  }
}

function resultPart({ call, at, result }: PairedCall, { ids, note }: ReplyContext): ToolResultPart {
  const { tool, unanswered = { status: 'unknown', output: NO_RESULT } } = call
  const settled = result ?? unanswered
  if (result === undefined)
    note(
      at,
      'result-missing',
      `A call of the tool ${quote(tool)} has no result; it was settled as ${settled.status}.`,
    )
  return {
    type: 'tool-result',
    callId: ids.get(call) ?? '',
    tool,
    status: settled.status,
    output: settled.output,
  }
}
