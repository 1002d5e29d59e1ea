/** How a run comes to be: from new values, from answers, from expired requests, or because somebody asks it to go on. */
import { withChanges } from '../journal/index.ts'
import { dataOf, noProgress, openTurn, startTurn, wrongKind } from '../loop/index.ts'
import { defined, type Entry, type EntryData, HoldfastError } from '../protocol/index.ts'
import { endRun, settleRest } from './ending.ts'
import type { Run } from './run.ts'
import { checkedUpdate, initialChanges, reducedChanges } from './update.ts'

/** Opens a turn or takes up the open one. False if there is no reason for one: then what came in is accounted for. */
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

/** What an agent has begun is for an agent to go on with: a graph declines and leaves it untouched. */
function checkKind({ session, scope }: Run): void {
  if (session.graph !== undefined || session.totals.modelCalls === 0) return
  throw wrongKind(
    scope.key.contextId,
    `${scope.key.contextId} is a conversation of an agent, not of a graph. Use another contextId.`,
  )
}

function startFrom(run: Run, entry: Entry): void {
  const { message: _, values: _values, origin: _origin, ...asked } = dataOf(entry, 'input')
  startTurn(run, asked, { takes: entry.key === undefined ? [] : [entry.key] })
  settleRest(run)
  for (const { task, state } of run.session.graph?.tasks ?? [])
    if (state !== 'ended') run.scope.abandoned?.(task)
  const isFirst = run.session.graph?.queued === undefined
  if (isFirst) return sayStart(run, givenIn(run, entry))
  queueInput(run, entry)
  startQueued(run)
}

/** Its run begins when those before it are over. */
function queueInput(run: Run, entry: Entry): void {
  run.draft.append('graph.queue', givenIn(run, entry))
}

/** Begins the next of the runs that are queued, in the turn that is open. False if none is. */
export function startQueued(run: Run): boolean {
  const [next] = run.session.graph?.queued ?? []
  if (next !== undefined) sayStart(run, next)
  return next !== undefined
}

type Given = EntryData['graph.queue']

/** The values of an input, as they are stored. */
function givenIn({ graph, scope }: Run, entry: Entry): Given {
  const { values, origin } = dataOf(entry, 'input')
  if (values === undefined)
    throw new HoldfastError('invalid-entry', {
      message: `${scope.key.contextId} is a conversation of the graph ${graph.name}: it takes values, not messages.`,
    })
  const update = checkedUpdate(graph.channels, { who: 'the input' }, values)
  return { update, ...defined({ origin }) }
}

/** What is given is merged into the state that there is. */
function sayStart(run: Run, { update, origin }: Given): void {
  const { graph } = run
  const before = run.session.graph?.state ?? {}
  const initial = initialChanges(graph, before)
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
