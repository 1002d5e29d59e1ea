/** Starts a run: from new values, from answers, from expired requests, or from a request to continue. */
import { isDeepStrictEqual } from 'node:util'
import { INPUT_DROPPED, withChanges, withUpdate } from '../journal/index.ts'
import { dataOf, noProgress, openTurn, startTurn, wrongKind } from '../loop/index.ts'
import { defined, type Entry, type EntryData, HoldfastError, type JsonObject } from '../protocol/index.ts'
import { thrownText } from '../tool/index.ts'
import { convertedChanges } from './adopt-channels.ts'
import { endRun, settleOpen } from './end-run.ts'
import type { Run } from './run.ts'
import { checkConstants, checkedUpdate, initialChanges, reducedChanges } from './update.ts'

/** Opens a turn or resumes the open one. Returns false if there is nothing to begin, with the inbox accounted for. */
export async function begin(run: Run): Promise<boolean> {
  checkKind(run)
  if (run.session.open !== undefined) {
    const error = noProgress(run)
    if (error !== undefined) endRun(run, 'failed', { error })
    return true
  }
  const take = {
    start: (entry: Entry) => startFrom(run, entry),
    queue: (entry: Entry) => queueInput(run, entry),
  }
  return (await openTurn(run, take)) !== 'none'
}

/** A graph must not continue an agent's conversation: it declines and leaves it untouched. */
function checkKind({ session, scope }: Run): void {
  if (session.graph !== undefined || session.totals.modelCalls === 0) return
  throw wrongKind(
    scope.key.contextId,
    `${scope.key.contextId} is a conversation of an agent, not of a graph. Use another contextId.`,
  )
}

function startFrom(run: Run, entry: Entry): void {
  const { message: _, values: _values, origin: _origin, ...sender } = dataOf(entry, 'input')
  startTurn(run, sender, { takes: entry.key === undefined ? [] : [entry.key] })
  const { tasks = [], queued = [] } = run.session.graph ?? {}
  settleOpen(run)
  if (queued.length === 0) appendStart(run, runInput(run, entry))
  // Runs of other senders need turns of their own, and this turn is the input's.
  else if (!queued.every((one) => isOfTurn(run, one))) appendStart(run, runInput(run, entry), { ahead: true })
  else {
    queueInput(run, entry)
    startQueued(run)
  }
  // Last: after a refused input, the earlier run and its children must be able to continue.
  for (const { task, state } of tasks) if (state !== 'ended') run.abandon(task)
}

/** The queued run starts when those before it are over. */
function queueInput(run: Run, entry: Entry): void {
  const input = runInput(run, entry)
  startChanges(run, input.update)
  run.draft.append('graph.queue', input)
}

/**
 * Starts the next queued run: in the open turn, or, if its sender needs another, in a turn that begins as this one ends.
 * An input that cannot start any more is dropped. False if there is none left.
 */
export function startQueued(run: Run): boolean {
  for (;;) {
    const [next] = run.session.graph?.queued ?? []
    if (next === undefined) return false
    const problem = problemWith(run, next)
    if (problem === undefined) {
      if (!isOfTurn(run, next)) changeTurn(run, next)
      appendStart(run, next)
      return true
    }
    run.draft.append('warning', {
      code: INPUT_DROPPED,
      message: `A queued input was dropped, because its run cannot start: ${problem} Send it again in another form.`,
    })
  }
}

/** Both turns are one append, so that any process finds the queued run as an open turn. */
function changeTurn(run: Run, { sender = {} }: RunInput): void {
  endRun(run, 'stop')
  startTurn(run, sender, { isLeft: true })
  run.scope.onQueuedTurn(run.open.turn)
}

/** True if the open turn has the principal, limits, metadata and need of credentials that the input came with. */
function isOfTurn({ open, scope: { key } }: Run, { sender }: RunInput): boolean {
  if (sender === undefined) return true
  const { tenant, actor } = key
  return isDeepStrictEqual(senderOf(open), { principal: { tenant, actor }, ...sender })
}

type RunInput = EntryData['graph.queue']
type Sender = NonNullable<RunInput['sender']>

function senderOf({ principal, limits, metadata, credentials }: Sender): Sender {
  return defined({ principal, limits, metadata, credentials })
}

function problemWith(run: Run, { update }: RunInput): string | undefined {
  try {
    checkConstants(run.graph, run.session.graph?.state ?? {}, update)
    startChanges(run, update)
    return undefined
  } catch (error) {
    return thrownText(error, run.secrets)
  }
}

/** The values of an input in their stored form. */
function runInput({ graph, scope, session }: Run, entry: Entry): RunInput {
  const { values, origin, ...sender } = dataOf(entry, 'input')
  if (values === undefined)
    throw new HoldfastError('invalid-entry', {
      message: `${scope.key.contextId} is a conversation of the graph ${graph.name}: it takes values, not messages.`,
    })
  const update = checkedUpdate(graph.channels, { source: 'the input' }, values)
  checkConstants(graph, session.graph?.state ?? {}, update)
  return { update, sender: senderOf(sender), ...defined({ origin }) }
}

/** The changes that begin a run: initial values, converted channels, reducers. Throws if a reducer does. */
function startChanges({ graph, session, scope }: Run, update: JsonObject): JsonObject {
  const before = session.graph?.state ?? {}
  const first = {
    ...initialChanges(graph, scope.isState ? withUpdate(before, graph.kinds, update) : before),
    ...convertedChanges(graph, session.graph),
  }
  const state = withChanges(before, graph.kinds, first)
  return { ...first, ...reducedChanges(graph, state, [update]) }
}

/** Merges the given values into the existing state. */
function appendStart(
  run: Run,
  { update, origin }: RunInput,
  place: Pick<EntryData['graph.start'], 'ahead'> = {},
): void {
  const { graph } = run
  const changes = startChanges(run, update)
  run.draft.append('graph.start', {
    graph: graph.name,
    channels: graph.kinds,
    update,
    ...(Object.keys(changes).length === 0 ? {} : { changes }),
    ...defined({ origin }),
    ...place,
  })
}
