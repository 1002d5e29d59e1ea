/**
 * A second implementation of the transcript: round by round, with the reference state deciding when one is open. Also
 * the rule of rounds that every provider checks (R9).
 */
import type {
  Entry,
  EntryData,
  EntryOf,
  Message,
  ToolCallPart,
  ToolResultPart,
  UserContent,
} from '../../src/protocol/index.ts'
import { FUTURE, newReference, observe, type ReferenceState, roundIsOpen } from './reference-state.ts'

/** Every violation of the rule of rounds; `open`: the last round may be incomplete. */
export function violations(messages: readonly Message[], open: boolean): string[] {
  const lastAsking = messages.findLastIndex((message) => callsOf(message).length > 0)
  return messages.flatMap((message, index) => {
    const next = messages[index + 1]
    const answers = next?.role === 'tool' ? next.content.map(({ callId }) => callId) : []
    const calls = callsOf(message).map(({ callId }) => callId)
    const due = open && index === lastAsking ? calls.filter((callId) => answers.includes(callId)) : calls
    return [
      ...(calls.length > 0 && answers.join() !== due.join()
        ? [`${index}: ${calls.join()} got ${answers.join()}`]
        : []),
      ...(message.role === 'tool' && callsOf(messages[index - 1]).length === 0
        ? [`${index}: answers nobody`]
        : []),
      ...(message.content.length === 0 ? [`${index}: is empty`] : []),
    ]
  })
}

export function expectedTranscript(log: readonly Entry[]): Message[] {
  const sketch: Sketch = {
    reference: newReference(),
    inputs: new Map(),
    messages: [],
    waiting: [],
    started: new Set(),
  }
  for (const entry of log) {
    observe(sketch.reference, entry)
    if (entry.v !== FUTURE) sketchEntry(sketch, entry)
  }
  const { messages, waiting } = sketch
  return [...messages, ...answered(sketch), ...waiting].map(({ message }) => message)
}

interface PlacedMessage {
  /** Its own entry; for a result, the reply with the call. */
  readonly seq: number
  readonly message: Message
}

interface Sketch {
  readonly reference: ReferenceState
  readonly inputs: Map<number, UserContent>
  messages: PlacedMessage[]
  /** Messages during an open round. */
  waiting: PlacedMessage[]
  round?: { seq: number; reply: Message; results: ToolResultPart[] } | undefined
  started: Set<unknown>
}

function sketchEntry(sketch: Sketch, entry: Entry): void {
  const { inputs, reference } = sketch
  if (entry.type === 'input') inputs.set(entry.seq, entry.data['message'] as UserContent)
  if (entry.type === 'turn.end' && !roundIsOpen(reference)) finish(sketch, 'Not run: the turn ended first.')
  if (entry.type === 'fork') {
    sketch.started.clear()
    finish(sketch, 'Not run in this fork.')
  }
  if (entry.type === 'model.end') finish(sketch, 'Not run.')
  for (const message of userMessages(entry, inputs)) {
    const list = sketch.round === undefined ? sketch.messages : sketch.waiting
    list.push({ seq: entry.seq, message })
  }
  if (entry.type === 'model.end') sketchReply(sketch, entry as EntryOf<'model.end'>)
  if (entry.type === 'tool.start') sketch.started.add(entry.data['callId'])
  if (entry.type === 'tool.end') {
    const { callId, status, output } = (entry as EntryOf<'tool.end'>).data
    const tool = callsOf(sketch.round?.reply).find((call) => call.callId === callId)?.tool ?? 'no such call'
    sketch.round?.results.push({ type: 'tool-result', callId, tool, status, output })
  }
  if (!roundIsOpen(reference)) finish(sketch)
  if (entry.type === 'clear') Object.assign(sketch, { messages: [], waiting: [], round: undefined })
  if (entry.type === 'compact') {
    const { upTo, summary } = (entry as EntryOf<'compact'>).data
    const opening: PlacedMessage[] =
      summary === undefined ? [] : [{ seq: 0, message: { role: 'user', content: summary, by: 'program' } }]
    if (sketch.round !== undefined && sketch.round.seq <= upTo) {
      sketch.round = undefined
      finish(sketch)
    }
    sketch.messages = [...opening, ...sketch.messages.filter(({ seq }) => seq > upTo)]
  }
}

function sketchReply(sketch: Sketch, { seq, data: { content, model } }: EntryOf<'model.end'>): void {
  const message: Message =
    model === undefined ? { role: 'assistant', content } : { role: 'assistant', content, model }
  if (callsOf(message).length > 0) sketch.round = { seq, reply: message, results: [] }
  else if (content.length > 0) sketch.messages.push({ seq, message })
}

/** Closes the round and releases the waiting messages. `why`: output of unsettled calls. */
function finish(sketch: Sketch, why?: string): void {
  sketch.messages.push(...answered(sketch, why), ...sketch.waiting)
  sketch.waiting = []
  sketch.round = undefined
}

function answered({ round, started }: Sketch, why?: string): PlacedMessage[] {
  if (round === undefined) return []
  const results = callsOf(round.reply).flatMap(({ callId, tool }): ToolResultPart[] => {
    const settled = round.results.find((result) => result.callId === callId)
    if (settled !== undefined || why === undefined) return settled === undefined ? [] : [settled]
    const end = started.has(callId)
      ? ({ status: 'unknown', output: 'Started; its outcome is unknown.' } as const)
      : ({ status: 'not-run', output: why } as const)
    return [{ type: 'tool-result', callId, tool, ...end }]
  })
  const answer: Message[] = results.length === 0 ? [] : [{ role: 'tool', content: results }]
  return [round.reply, ...answer].map((message) => ({ seq: round.seq, message }))
}

function userMessages(
  { type, data, takes = [] }: Entry,
  inputs: ReadonlyMap<number, UserContent>,
): Message[] {
  if (type === 'tool.late')
    return [{ role: 'user', content: lateNews(data as EntryData['tool.late']), by: 'program' }]
  if (type === 'note') return [{ role: 'user', content: data['text'] as string, by: 'program' }]
  if (type !== 'turn.start' && !(type === 'take' && data['as'] === 'message')) return []
  return takes.map((seq) => ({ role: 'user', content: inputs.get(seq) ?? `no input ${seq}` }))
}

function lateNews({ callId, status, output }: EntryData['tool.late']): string {
  const news = `whose outcome was unknown, has come to an end (${status})`
  return `[The call ${callId}, ${news}: ${typeof output === 'string' ? output : JSON.stringify(output)}]`
}

function callsOf(message: Message | undefined): readonly ToolCallPart[] {
  return message?.role === 'assistant' ? message.content.filter((part) => part.type === 'tool-call') : []
}
