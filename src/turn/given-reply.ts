/** Opens the round of a reply that came from elsewhere, in place of a model call. */
import { chain, type MaybePromise } from '../base/index.ts'
import { hasRedaction } from '../loop/index.ts'
import {
  defined,
  type Entry,
  type EntryData,
  GIVEN,
  TASK_METADATA,
  type ToolCallPart,
} from '../protocol/index.ts'
import type { GivenReply } from './definition.ts'
import { settleRest } from './ending.ts'
import { lastOf } from './last-of.ts'
import type { TurnRun } from './turn-run.ts'

/** Skips calls that the journal has already, so each runs once. A fork has dropped open and parked calls: it runs them. */
export function giveReply(run: TurnRun, reply: GivenReply): MaybePromise<void> {
  return chain(run.scope.view.window(), (entries) => {
    const own = entriesOfTask(entries, run.open.metadata?.[TASK_METADATA])
    const calls = callsOf(reply).filter(({ callId }) => !isGiven(own, callId))
    if (calls.length === 0) return
    settleRest(run, 'Not run: the graph went on without it.')
    const content = reply.content.filter((part) => part.type !== 'tool-call' || calls.includes(part))
    run.draft.append('model.end', { content, finish: GIVEN, ...defined({ model: reply.model }) })
    for (const call of calls) if (hasRedaction(call.args)) rejectRedacted(run, call)
  })
}

/** The entries since the task's first turn; ids of calls in earlier ones may be the same. */
function entriesOfTask(entries: readonly Entry[], task: unknown): readonly Entry[] {
  const first = entries.findIndex((entry) => isTurnOf(entry, task))
  return entries.slice(first < 0 ? entries.findLastIndex(({ type }) => type === 'model.end') : first)
}

function isTurnOf({ type, data }: Entry, task: unknown): boolean {
  if (type !== 'turn.start' || task === undefined) return false
  return (data as EntryData['turn.start']).metadata?.[TASK_METADATA] === task
}

function isGiven(entries: readonly Entry[], callId: string): boolean {
  const given = lastOf(entries, 'model.end', ({ data }) =>
    callsOf(data).some((call) => call.callId === callId),
  )
  if (given === undefined) return false
  const isForked = entries.some(({ type, seq }) => type === 'fork' && seq > given.seq)
  const isSettled = lastOf(entries, 'tool.end', ({ seq, data }) => seq > given.seq && data.callId === callId)
  return !isForked || isSettled !== undefined
}

function callsOf({ content }: Pick<GivenReply, 'content'>): readonly ToolCallPart[] {
  return content.filter((part) => part.type === 'tool-call')
}

/** The state that the reply comes from has a mark where the model wrote a secret. */
function rejectRedacted(run: TurnRun, { callId, tool }: ToolCallPart): void {
  const error = `${tool} was not run: its arguments contained a credential, and the state of a graph keeps none. Leave credentials out of the arguments: tools get them from the turn.`
  run.draft.append('tool.end', { callId, status: 'rejected', output: { error, code: 'redacted-arguments' } })
}
