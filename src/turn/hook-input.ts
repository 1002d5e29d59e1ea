/** Reads the replies, calls and results for hooks from the window. Hooks get frozen copies: they change by `edit`. */
import type { CallResult, PendingCall, Reply } from '../hook/index.ts'
import type { Call } from '../journal/index.ts'
import { type Entry, type Json, replyText, type ToolCallPart } from '../protocol/index.ts'
import { frozenCopy } from './frozen-copy.ts'
import { lastOf } from './last-of.ts'
import type { TurnRun } from './turn-run.ts'

/** The last reply of the turn. */
export async function lastReply(run: TurnRun): Promise<Reply> {
  const entries = await run.scope.view.window()
  const { content = [], finish = '', model, usage } = lastOf(entries, 'model.end')?.data ?? {}
  return {
    text: replyText(content),
    content: frozenCopy(content),
    calls: await pendingHookCalls(run),
    finish,
    ...(model === undefined ? {} : { model }),
    ...(usage === undefined ? {} : { usage: frozenCopy(usage) }),
  }
}

/** The model's last text in this turn, or an empty one. */
export async function lastText(run: TurnRun): Promise<string> {
  const entries = await run.scope.view.window()
  const { turn } = run.open
  const reply = lastOf(entries, 'model.end', (entry) => {
    return entry.turn === turn && replyText(entry.data.content) !== ''
  })
  return replyText(reply?.data.content ?? [])
}

export async function pendingHookCalls(run: TurnRun): Promise<readonly PendingCall[]> {
  const requested = run.calls.filter(({ state }) => state === 'requested')
  return Promise.all(requested.map((call) => pendingCall(run, call)))
}

export async function pendingCall(run: TurnRun, { callId, tool, args }: Call): Promise<PendingCall> {
  const description = (await run.tools()).find(({ name }) => name === tool)?.description
  return { callId, tool, args: frozenCopy(args), ...(description === undefined ? {} : { description }) }
}

/** The results of the last round's calls, in the order of the reply; of all calls if none are named. */
export async function callResults(run: TurnRun, callIds?: readonly string[]): Promise<readonly CallResult[]> {
  const entries = await run.scope.view.window()
  const reply = lastOf(entries, 'model.end', ({ data }) => {
    return data.content.some(({ type }) => type === 'tool-call')
  })
  const calls = (reply?.data.content ?? []).filter((part) => part.type === 'tool-call')
  return calls
    .filter(({ callId }) => callIds?.includes(callId) ?? true)
    .flatMap((call) => resultOf(entries, call) ?? [])
}

function resultOf(entries: readonly Entry[], { callId, tool, args }: ToolCallPart): CallResult | undefined {
  const isMeant = ({ data }: { readonly data: { readonly callId: string } }) => data.callId === callId
  const end = lastOf(entries, 'tool.end', isMeant)
  if (end === undefined) return undefined
  const start = lastOf(entries, 'tool.start', isMeant)
  const { status, output, display } = end.data
  const edited = editedResult(entries, end.seq, callId)
  return {
    callId,
    tool,
    args: frozenCopy(start === undefined ? args : start.data.args),
    status,
    output: frozenCopy(edited === undefined ? output : edited),
    ...(display === undefined ? {} : { display }),
    ...(start === undefined ? {} : { durationMs: end.at - start.at }),
  }
}

/** The result that a hook has put in place of the tool's own, which ended at this position. */
function editedResult(entries: readonly Entry[], end: number, callId: string): Json | undefined {
  const since = entries.slice(entries.findLastIndex(({ seq }) => seq <= end))
  return lastOf(since, 'phase', ({ data }) => data.changes?.results?.[callId] !== undefined)?.data.changes
    ?.results?.[callId]
}
