/** What hooks are told of replies and calls, read from the window. */
import type { CallResult, PendingCall, Reply } from '../hook/index.ts'
import type { Call } from '../journal/index.ts'
import type { AssistantPart, Entry, EntryOf, EntryType, ToolCallPart } from '../protocol/index.ts'
import type { Play } from './play.ts'

/** The last reply of the turn. */
export async function lastReply(play: Play): Promise<Reply> {
  const entries = await play.scope.view.window()
  const { content = [], finish = '', model, usage } = lastOf(entries, 'model.end')?.data ?? {}
  return {
    text: wordsOf(content),
    content,
    calls: await pendingCalls(play),
    finish,
    ...(model === undefined ? {} : { model }),
    ...(usage === undefined ? {} : { usage }),
  }
}

/** What the model said last in this turn, if it said anything. */
export async function lastWords(play: Play): Promise<string> {
  const entries = await play.scope.view.window()
  const { turn } = play.open
  const said = entries.findLast(
    (entry): entry is EntryOf<'model.end'> =>
      isA(entry, 'model.end') && entry.turn === turn && wordsOf(entry.data.content) !== '',
  )
  return wordsOf(said?.data.content ?? [])
}

export async function pendingCalls(play: Play): Promise<readonly PendingCall[]> {
  const requested = play.open.calls.filter(({ state }) => state === 'requested')
  return Promise.all(requested.map((call) => pendingCall(play, call)))
}

export async function pendingCall(play: Play, { callId, tool, args }: Call): Promise<PendingCall> {
  const description = (await play.tools()).find(({ name }) => name === tool)?.description
  return { callId, tool, args, ...(description === undefined ? {} : { description }) }
}

/** Of the calls of the last round, in the order in which they were asked for; of all of them if none are named. */
export async function callResults(play: Play, callIds?: readonly string[]): Promise<readonly CallResult[]> {
  const entries = await play.scope.view.window()
  const asked = entries.findLast(
    (entry): entry is EntryOf<'model.end'> =>
      isA(entry, 'model.end') && entry.data.content.some(({ type }) => type === 'tool-call'),
  )
  const calls = (asked?.data.content ?? []).filter((part) => part.type === 'tool-call')
  return calls
    .filter(({ callId }) => callIds?.includes(callId) ?? true)
    .flatMap((call) => resultOf(entries, call) ?? [])
}

function resultOf(entries: readonly Entry[], { callId, tool, args }: ToolCallPart): CallResult | undefined {
  const end = lastOf(entries, 'tool.end', callId)
  if (end === undefined) return undefined
  const start = lastOf(entries, 'tool.start', callId)
  const { status, output, display } = end.data
  return {
    callId,
    tool,
    args: start?.data.args ?? args,
    status,
    output,
    ...(display === undefined ? {} : { display }),
    ...(start === undefined ? {} : { durationMs: end.at - start.at }),
  }
}

function lastOf<T extends EntryType>(
  entries: readonly Entry[],
  type: T,
  callId?: string,
): EntryOf<T> | undefined {
  return entries.findLast(
    (entry): entry is EntryOf<T> =>
      isA(entry, type) &&
      (callId === undefined || entry.data['callId' as keyof typeof entry.data] === callId),
  )
}

function isA<T extends EntryType>(entry: Entry, type: T): entry is EntryOf<T> {
  return entry.type === type
}

function wordsOf(content: readonly AssistantPart[]): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
}
