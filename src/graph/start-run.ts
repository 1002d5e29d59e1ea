/** Starts a run: from new values, from answers, from expired requests, or from a request to continue. */
import { withChanges, withUpdate } from '../journal/index.ts'
import { dataOf, noProgress, openTurn, startTurn, wrongKind } from '../loop/index.ts'
import { defined, type Entry, type EntryData, HoldfastError } from '../protocol/index.ts'
import { endRun, settleOpen } from './end-run.ts'
import type { Run } from './run.ts'
import { checkConstants, checkedUpdate, initialChanges, reducedChanges } from './update.ts'

/** Opens a turn or resumes the open one. False if there is no reason for one: then the inbox is accounted for. */
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
  settleOpen(run)
  for (const { task, state } of run.session.graph?.tasks ?? [])
    if (state !== 'ended') run.scope.abandoned?.(task)
  const isFirst = run.session.graph?.queued === undefined
  if (isFirst) return appendStart(run, runInput(run, entry))
  queueInput(run, entry)
  startQueued(run)
}

/** The queued run starts when those before it are over. */
function queueInput(run: Run, entry: Entry): void {
  run.draft.append('graph.queue', runInput(run, entry))
}

/** Starts the next queued run in the open turn. False if there is none. */
export function startQueued(run: Run): boolean {
  const [next] = run.session.graph?.queued ?? []
  if (next !== undefined) appendStart(run, next)
  return next !== undefined
}

type RunInput = EntryData['graph.queue']

/** The values of an input in their stored form. */
function runInput({ graph, scope, session }: Run, entry: Entry): RunInput {
  const { values, origin } = dataOf(entry, 'input')
  if (values === undefined)
    throw new HoldfastError('invalid-entry', {
      message: `${scope.key.contextId} is a conversation of the graph ${graph.name}: it takes values, not messages.`,
    })
  const update = checkedUpdate(graph.channels, { source: 'the input' }, values)
  checkConstants(graph, session.graph?.state ?? {}, update)
  return { update, ...defined({ origin }) }
}

/** Merges the given values into the existing state. */
function appendStart(run: Run, { update, origin }: RunInput): void {
  const { graph } = run
  const before = run.session.graph?.state ?? {}
  const initial = initialChanges(graph, run.scope.isState ? withUpdate(before, graph.kinds, update) : before)
  const state = withChanges(before, graph.kinds, initial)
  const changes = { ...initial, ...reducedChanges(graph, state, [update]) }
  run.draft.append('graph.start', {
    graph: graph.name,
    channels: graph.kinds,
    update,
    ...(Object.keys(changes).length === 0 ? {} : { changes }),
    ...defined({ origin }),
  })
}
