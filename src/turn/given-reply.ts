/** Opens the round of a reply that came from elsewhere, in place of a model call. */
import { chain, type MaybePromise } from '../base/index.ts'
import { hasRedaction } from '../loop/index.ts'
import { defined, type Entry, GIVEN, type ToolCallPart } from '../protocol/index.ts'
import type { GivenReply } from './definition.ts'
import { settleRest } from './ending.ts'
import { lastOf } from './last-of.ts'
import type { TurnRun } from './turn-run.ts'

/** A reply that the journal has already is not given again: its calls are open, parked or settled. */
export function giveReply(run: TurnRun, reply: GivenReply): MaybePromise<void> {
  return chain(run.scope.view.window(), (entries) => {
    if (isGiven(entries, reply)) return
    settleRest(run, 'Not run: the graph went on without it.')
    const { content, model } = reply
    run.draft.append('model.end', { content, finish: GIVEN, ...defined({ model }) })
    for (const call of callsOf(reply)) if (hasRedaction(call.args)) rejectRedacted(run, call)
  })
}

function isGiven(entries: readonly Entry[], reply: GivenReply): boolean {
  const last = lastOf(entries, 'model.end')
  const [given, wanted] = [last?.data ?? { content: [] }, reply].map((one) => callsOf(one))
  const ids = new Set(given?.map(({ callId }) => callId))
  return wanted?.every(({ callId }) => ids.has(callId)) ?? true
}

function callsOf({ content }: GivenReply): readonly ToolCallPart[] {
  return content.filter((part) => part.type === 'tool-call')
}

/** The state that the reply comes from has a mark where the model wrote a secret. */
function rejectRedacted(run: TurnRun, { callId, tool }: ToolCallPart): void {
  const error = `${tool} was not run: its arguments contained a credential, and the state of a graph keeps none. Leave credentials out of the arguments: tools get them from the turn.`
  run.draft.append('tool.end', { callId, status: 'rejected', output: { error, code: 'redacted-arguments' } })
}
