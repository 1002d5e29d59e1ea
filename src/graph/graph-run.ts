/** One turn of a graph as seen from outside: a stream of events with their paths, and an outcome that always comes. */
import { attachCause, problemOf, type TurnOutcome, type TurnView } from '../drive/index.ts'
import { isDelta, type RequestData, type TurnEvent } from '../protocol/index.ts'
import type { Channels, StateOf } from './channel.ts'

/** `path`: the task of the event, then the children below it; empty for the run as a whole. */
export type GraphEvent = TurnEvent & { readonly path: readonly string[] }

export interface GraphOutcome<C extends Channels> extends Omit<TurnOutcome, 'text'> {
  /** The state reached, however the run ended. */
  readonly state: StateOf<C>
}

export interface GraphRun<C extends Channels> extends AsyncIterable<GraphEvent> {
  readonly contextId: string
  /** Never rejects. */
  readonly outcome: Promise<GraphOutcome<C>>
  /** Ends the run as `cancelled`, whichever process drives it. */
  readonly cancel: (reason?: string) => Promise<void>
}

export interface RunSource<C extends Channels> {
  readonly contextId: string
  readonly turn: TurnView
  /** The state at this entry; at the end of the journal without one. */
  readonly stateAt: (seq: number | undefined) => Promise<StateOf<C>>
  /** The newest state known here, for when the store cannot be read. */
  readonly lastState: () => StateOf<C>
  /** Called when the run is over. */
  readonly done: () => Promise<void>
}

export function graphRun<C extends Channels>(source: RunSource<C>): GraphRun<C> {
  const { contextId, turn } = source
  return {
    contextId,
    outcome: outcomeOf(source),
    cancel: (reason) => turn.cancel(reason),
    async *[Symbol.asyncIterator]() {
      for await (const event of turn) yield placed(event)
    },
  }
}

async function outcomeOf<C extends Channels>(source: RunSource<C>): Promise<GraphOutcome<C>> {
  const { turn, stateAt, lastState, done } = source
  const ended = await turn.outcome
  const { text: _, ...outcome } = ended
  let end: number | undefined
  for await (const event of turn) if (event.type === 'turn.end' && event.path === undefined) end = event.seq
  try {
    return attachCause({ ...outcome, state: await stateAt(end) }, ended.cause)
  } catch (error) {
    const known = outcome.error ?? problemOf(error)
    return { ...outcome, reason: 'failed', status: 'failed', error: known, state: lastState() }
  } finally {
    // A store that is gone has nothing left to release.
    await done().catch(() => {})
  }
}

function placed(event: TurnEvent): GraphEvent {
  return { ...event, path: [...(event.path ?? []), ...placeOf(event)] }
}

function placeOf(event: TurnEvent): readonly string[] {
  if (isDelta(event)) return event.type === 'node.progress' ? [event.data.task] : []
  const { data } = event
  if ('task' in data && typeof data.task === 'string') return [data.task]
  if (event.type === 'request.start') return taskIn(event.data.callId)
  if (event.type === 'effect.end') return taskIn(event.data.callId.split('/')[0])
  // A request for credentials is the run's, and its id is no path.
  if (event.type === 'request.end' && event.data.requestId.includes('/'))
    return taskIn(event.data.requestId.split('/')[0])
  return []
}

function taskIn(task: RequestData['callId']): readonly string[] {
  return task === undefined ? [] : [task]
}
