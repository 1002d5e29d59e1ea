/**
 * The loop of a graph: an async generator that yields before it acts, like a turn of an agent. The tasks of a step run
 * side by side on the same state; when all have ended, their updates apply in task order, and edges and branches choose
 * the next tasks. It starts at the session's position: recovery is the same generator from a later position.
 */
import { CHILD_SCOPE } from '../drive/index.ts'
import type { GraphState } from '../journal/index.ts'
import {
  type Batch,
  findCredentials,
  isCommittedFirst,
  type LoopSteps,
  runLoop,
  waitingFor,
} from '../loop/index.ts'
import { defined, type EntryData, type JsonObject, type TaskData } from '../protocol/index.ts'
import { runAround } from '../tool/index.ts'
import { adoptChannels } from './adopt-channels.ts'
import { endRun, settleEffects } from './end-run.ts'
import { type FinishedStep, type NextTargets, nextTargets } from './routes.ts'
import { type GraphScope, Run } from './run.ts'
import { begin, startQueued } from './start-run.ts'
import { stateView } from './state-view.ts'
import { noSuchNode, runTasks } from './tasks.ts'
import { joinStep } from './update.ts'

/** One turn of a graph, new or open. */
export function graphLoop(scope: GraphScope): AsyncGenerator<Batch, boolean> {
  return runLoop(() => stepsOf(new Run(scope)))
}

function stepsOf(run: Run): LoopSteps {
  return {
    run,
    begin: async () => {
      const isBegun = await begin(run)
      if (isBegun) adoptChannels(run)
      return isBegun
    },
    next: () => continueRun(run),
    cancel: () => endRun(run, 'cancelled'),
    fail: (error) => endRun(run, 'failed', { error }),
  }
}

/** Continues the run from its current position. */
function continueRun(run: Run): AsyncIterable<Batch> | undefined {
  run.queue.drain()
  const { tasks } = run.session.graph ?? { tasks: [] }
  const limit = reachedUsage(run)
  if (run.cancelledOrTimedOut.aborted)
    return endAtLimit(run, { limit: 'durationMs', message: 'The time of the turn is up.' })
  if (tasks.every(({ state }) => state === 'ended')) return nextStep(run, limit)
  return limit === undefined ? runStep(run) : endAtLimit(run, limit)
}

/** Runs the tasks of the open step as far as they can go. */
async function* runStep(run: Run): AsyncGenerator<Batch, void> {
  if (isCommittedFirst(run)) yield run.commit('continue')
  const credentials = await findCredentials(run)
  if (credentials === undefined) {
    endRun(run, 'auth-required')
    return
  }
  const waiting = new Set(run.open.requests.map(({ callId }) => callId))
  const begun = run.position.tasks.filter(({ task, state }) => state === 'begun' && !waiting.has(task))
  if (begun.length === 0) {
    endStep(run)
    return
  }
  const now = run.scope.clock.now()
  const ready = begun.filter(({ until = 0 }) => until <= now)
  if (ready.length === 0) {
    yield* wait(run, Math.min(...begun.map(({ until = 0 }) => until)) - now)
    return
  }
  // A driver that is leaving releases here: no task starts after this point.
  if (run.scope.stopping?.aborted) yield run.commit('wait')
  if (!run.draft.isEmpty) yield run.commit('tools')
  await run.scope.ensureLease()
  yield* runTasks(run, ready, credentials)
}

async function* wait(run: Run, ms: number): AsyncGenerator<Batch, void> {
  yield run.commit('wait')
  const { stopping, timer } = run.scope
  const signal = stopping === undefined ? run.interrupted : AbortSignal.any([run.interrupted, stopping])
  await timer.wait(ms, { signal })
  if (stopping?.aborted) yield run.commit('wait')
}

/** No task can continue: some have failed, or wait for an answer. */
function endStep(run: Run): void {
  const failed = run.position.tasks.find(({ state }) => state === 'failed')
  if (failed !== undefined) {
    const { code = 'node-failed', message = '' } = failed.error ?? {}
    run.failedBy(run.thrown.get(failed.task))
    endRun(run, 'failed', { error: { code, message, node: failed.node, task: failed.task } })
    return
  }
  endRun(run, waitingFor(run.open.requests))
}

/** Applies the updates of the step, whatever limit is reached; then starts the next step or ends the run. */
async function* nextStep(run: Run, used: ReachedLimit | undefined): AsyncGenerator<Batch, void> {
  const gone = removedNode(run)
  if (gone !== undefined) {
    endRun(run, 'failed', { error: { ...noSuchNode(gone), node: gone } })
    return
  }
  settleEffects(run)
  const { state, changes } = joinStep(run.graph, run.position)
  const next = await targetsFrom(run, state)
  const isOver = next.targets.length === 0
  // A finished run was not stopped by a limit, whatever its last step used.
  const limit = isOver ? undefined : (used ?? reachedSteps(run))
  if (limit !== undefined) {
    // The next turn goes there: until then the arrivals at joins stay as they were.
    appendStep(run, { next: { ...arrivals(run), targets: [] }, changes, leads: next })
    endAtLimit(run, limit)
    return
  }
  const { turn } = run.open
  appendStep(run, { next, changes })
  if (isOver) finish(run, next)
  if (run.session.open?.turn === turn) yield run.commit('tools')
}

/** A node of the last step that the code no longer has: without its edges, the run would end as if it were complete. */
function removedNode({ graph, position: { tasks } }: Run): string | undefined {
  return tasks.find(({ node }) => !graph.nodes.has(node))?.node
}

/**
 * The stored targets if a limit came before them; else those of edges and routes. The turn waits for routes as for nodes.
 */
async function targetsFrom(run: Run, state: GraphState): Promise<NextTargets> {
  const { tasks, after, leads } = run.position
  if (tasks.length === 0 && leads !== undefined) return leads
  const finished: FinishedStep = {
    after: tasks.length > 0 ? tasks.map(({ node }) => node) : after,
    state: stateView(state, run.graph.channels),
    ...arrivals(run),
  }
  const { key, childScope } = run.scope
  const context = { contextId: key.contextId, turn: run.open.turn, signal: run.interrupted }
  return run.within(
    runAround({ contextId: key.contextId, [CHILD_SCOPE]: childScope }, () =>
      nextTargets(run.graph, finished, context),
    ),
  )
}

function arrivals({ position: { waiting } }: Run): Pick<NextTargets, 'waiting'> {
  return waiting === undefined ? {} : { waiting }
}

interface NewStep {
  readonly next: NextTargets
  readonly changes: JsonObject
  readonly leads?: NextTargets
}

function appendStep(run: Run, { next, changes, leads }: NewStep): void {
  const { erasedUpTo } = run.session
  // Task names of an erased conversation stay erased with it.
  const generation = erasedUpTo === undefined ? '' : `${erasedUpTo}-`
  const first = run.position.count + 1
  const tasks = next.targets.map(
    (target, index): TaskData => ({ task: `${target.node}.${generation}${first + index}`, ...target }),
  )
  const data: EntryData['graph.step'] = {
    tasks,
    ...(Object.keys(changes).length === 0 ? {} : { changes }),
    ...defined({ waiting: next.waiting, leads }),
  }
  run.draft.append('graph.step', data)
}

function finish(run: Run, { waiting }: NextTargets): void {
  for (const [join, arrived] of Object.entries(waiting ?? {})) {
    const [from = '', to] = join.split('>')
    const missing = from.split('+').filter((node) => !arrived.includes(node))
    const message = `The run is over, and ${to} was never begun: it waited for ${missing.join(', ')}.`
    run.draft.append('warning', { code: 'join-incomplete', message })
  }
  if (!startQueued(run)) endRun(run, 'stop')
}

interface ReachedLimit {
  readonly limit: string
  readonly message: string
}

function reachedUsage(run: Run): ReachedLimit | undefined {
  const { tokens = Number.POSITIVE_INFINITY, costUsd = Number.POSITIVE_INFINITY } = run.limits
  const { usage } = run.open
  if (usage.inputTokens + usage.outputTokens >= tokens)
    return { limit: 'tokens', message: `The turn has used ${tokens} tokens.` }
  if (usage.costUsd >= costUsd) return { limit: 'costUsd', message: `The turn has cost ${costUsd} dollars.` }
  return undefined
}

function reachedSteps({ limits: { steps = 0 }, position: { step } }: Run): ReachedLimit | undefined {
  return step < steps ? undefined : { limit: 'steps', message: `The run has taken ${steps} steps.` }
}

function endAtLimit(run: Run, { limit, message }: ReachedLimit): undefined {
  run.draft.append('warning', { code: limit, message: `${message} Go on with null as the input.` })
  return endRun(run, 'limit', { limit })
}
