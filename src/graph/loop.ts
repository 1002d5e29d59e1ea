/**
 * The run of a graph: an async generator that yields before it acts, like a turn of an agent. It goes in steps. The tasks
 * of a step run side by side and are shown the same state; when all have ended, what they said counts, in their order,
 * and edges and branches say which tasks are next. It starts wherever the session stands; recovery is the same
 * generator from a later position.
 */
import { CHILD_SCOPE } from '../drive/index.ts'
import type { GraphState } from '../journal/index.ts'
import { type Batch, findCredentials, type LoopSteps, runLoop, waitingFor } from '../loop/index.ts'
import { defined, type EntryData, type JsonObject, type TaskData } from '../protocol/index.ts'
import { runAround } from '../tool/index.ts'
import { begin, startQueued } from './beginning.ts'
import { endRun, settleEffects } from './ending.ts'
import { type Ended, type Leading, leadingOn } from './routes.ts'
import { type GraphScope, Run } from './run.ts'
import { stateView } from './state-view.ts'
import { runTasks } from './tasks.ts'
import { joinStep } from './update.ts'

/** One turn of a graph, new or open. */
export function playGraph(scope: GraphScope): AsyncGenerator<Batch, boolean> {
  return runLoop(() => stepsOf(new Run(scope)))
}

function stepsOf(run: Run): LoopSteps {
  return {
    run,
    begin: () => begin(run),
    next: () => nextPart(run),
    cancel: () => endRun(run, 'cancelled'),
    fail: (error) => endRun(run, 'failed', { error }),
  }
}

/** What the run does next, from where it stands. */
function nextPart(run: Run): AsyncIterable<Batch> | undefined {
  run.queue.drain()
  const { tasks } = run.session.graph ?? { tasks: [] }
  const limit = usedUp(run)
  if (run.signal.aborted)
    return endAtLimit(run, { limit: 'durationMs', message: 'The time of the turn is up.' })
  if (tasks.every(({ state }) => state === 'ended')) return goOn(run, limit)
  return limit === undefined ? playStep(run) : endAtLimit(run, limit)
}

/** The tasks of the open step, as far as they can be brought. */
async function* playStep(run: Run): AsyncGenerator<Batch, void> {
  const credentials = yield* findCredentials(run)
  if (credentials === undefined) {
    endRun(run, 'auth-required')
    return
  }
  const asking = new Set(run.open.requests.map(({ callId }) => callId))
  const begun = run.position.tasks.filter(({ task, state }) => state === 'begun' && !asking.has(task))
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
  // A driver that wants to let go does so here: nothing is begun any more.
  if (run.scope.leave?.aborted) yield* run.commit('wait')
  if (!run.draft.isEmpty) yield* run.commit('tools')
  await run.scope.mayAct()
  yield* runTasks(run, ready, credentials)
}

async function* wait(run: Run, ms: number): AsyncGenerator<Batch, void> {
  yield* run.commit('wait')
  const { leave, timer } = run.scope
  const signal = leave === undefined ? run.stop : AbortSignal.any([run.stop, leave])
  await timer.wait(ms, { signal })
  if (leave?.aborted) yield* run.commit('wait')
}

/** Nobody can go on: some have failed, or wait for somebody. */
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

/** What the step has said counts, whatever is used up; the next one begins, or the run is over. */
async function* goOn(run: Run, used: Reached | undefined): AsyncGenerator<Batch, void> {
  settleEffects(run)
  const { state, changes } = joinStep(run.graph, run.position)
  const leading = await leadingFrom(run, state)
  const isOver = leading.targets.length === 0
  // A run that is over was stopped by nothing, whatever its last step has used.
  const limit = isOver ? undefined : (used ?? stepsTaken(run))
  if (limit !== undefined) {
    // The next turn goes there: until then, who has arrived where is as it was.
    sayStep(run, { leading: { ...arrivedIn(run), targets: [] }, changes, leads: leading })
    endAtLimit(run, limit)
    return
  }
  sayStep(run, { leading, changes })
  if (isOver) finish(run, leading)
  if (run.session.open !== undefined) yield* run.commit('tools')
}

/** As it was said when a limit came before it; else as edges and routes say now. The turn waits for routes as for nodes. */
async function leadingFrom(run: Run, state: GraphState): Promise<Leading> {
  const { tasks, after, leads } = run.position
  if (tasks.length === 0 && leads !== undefined) return leads
  const ended: Ended = {
    after: tasks.length > 0 ? tasks.map(({ node }) => node) : after,
    state: stateView(state, run.graph.channels),
    ...arrivedIn(run),
  }
  const { key, childScope } = run.scope
  const context = { contextId: key.contextId, turn: run.open.turn, signal: run.stop }
  return run.within(
    runAround({ contextId: key.contextId, [CHILD_SCOPE]: childScope }, () =>
      leadingOn(run.graph, ended, context),
    ),
  )
}

function arrivedIn({ position: { waiting } }: Run): Pick<Leading, 'waiting'> {
  return waiting === undefined ? {} : { waiting }
}

interface Step {
  readonly leading: Leading
  readonly changes: JsonObject
  readonly leads?: Leading
}

function sayStep(run: Run, { leading, changes, leads }: Step): void {
  const { erasedUpTo } = run.session
  // Names of what an erased conversation ran below itself stay erased with it.
  const apart = erasedUpTo === undefined ? '' : `${erasedUpTo}-`
  const next = run.position.count + 1
  const tasks = leading.targets.map(
    (target, index): TaskData => ({ task: `${target.node}.${apart}${next + index}`, ...target }),
  )
  const data: EntryData['graph.step'] = {
    tasks,
    ...(Object.keys(changes).length === 0 ? {} : { changes }),
    ...defined({ waiting: leading.waiting, leads }),
  }
  run.draft.append('graph.step', data)
}

function finish(run: Run, { waiting }: Leading): void {
  for (const [join, arrived] of Object.entries(waiting ?? {})) {
    const [from = '', to] = join.split('>')
    const missing = from.split('+').filter((node) => !arrived.includes(node))
    const message = `The run is over, and ${to} was never begun: it waited for ${missing.join(', ')}.`
    run.draft.append('warning', { code: 'join-incomplete', message })
  }
  if (!startQueued(run)) endRun(run, 'stop')
}

interface Reached {
  readonly limit: string
  readonly message: string
}

function usedUp(run: Run): Reached | undefined {
  const { tokens = Number.POSITIVE_INFINITY, costUsd = Number.POSITIVE_INFINITY } = run.limits
  const { usage } = run.open
  if (usage.inputTokens + usage.outputTokens >= tokens)
    return { limit: 'tokens', message: `The turn has used ${tokens} tokens.` }
  if (usage.costUsd >= costUsd) return { limit: 'costUsd', message: `The turn has cost ${costUsd} dollars.` }
  return undefined
}

function stepsTaken({ limits: { steps = 0 }, position: { step } }: Run): Reached | undefined {
  return step < steps ? undefined : { limit: 'steps', message: `The run has taken ${steps} steps.` }
}

function endAtLimit(run: Run, { limit, message }: Reached): undefined {
  run.draft.append('warning', { code: limit, message: `${message} Go on with null as the input.` })
  return endRun(run, 'limit', { limit })
}
