/**
 * The run of a graph: an async generator that yields before it acts, like a turn of an agent. It goes in steps. The tasks
 * of a step run side by side and are shown the same state; when all have ended, what they said counts, in their order,
 * and edges and branches say which tasks are next. It starts wherever the session stands; recovery is the same
 * generator from a later position.
 */
import { debugThrown } from '../base/index.ts'
import { NURSERY } from '../drive/index.ts'
import { type GraphState, isStarted } from '../journal/index.ts'
import {
  type EntryData,
  HoldfastError,
  type JsonObject,
  type OutcomeReason,
  type TaskData,
} from '../protocol/index.ts'
import { runAround, thrownText } from '../tool/index.ts'
import {
  askForCredentials,
  type Batch,
  endsTurn,
  hearAnswers,
  Interrupted,
  startBare,
} from '../turn/index.ts'
import { begin } from './beginning.ts'
import { endRun, settleEffects } from './ending.ts'
import { type Ended, type Leading, leadingOn } from './routes.ts'
import { type GraphScope, Run } from './run.ts'
import { stateView } from './state-view.ts'
import { runTasks } from './tasks.ts'
import { joinStep } from './update.ts'

/** One turn of a graph, new or open; as `playTurn` does it for agents. */
export async function* playGraph(scope: GraphScope): AsyncGenerator<Batch, boolean> {
  const run = new Run(scope)
  try {
    const began = await begin(run)
    while (run.session.open !== undefined) yield* playOn(run)
    if (!run.draft.isEmpty) yield* run.commit('done')
    return began
  } catch (error) {
    if (!endsTurn(error)) throw error
    yield* giveUp(run, error)
    return true
  } finally {
    run.close()
  }
}

async function* playOn(run: Run): AsyncGenerator<Batch, void> {
  try {
    run.desk.drain()
    const { tasks } = run.session.graph ?? { tasks: [] }
    const limit = usedUp(run)
    if (run.cancelKey() !== undefined || run.scope.signal.aborted) endRun(run, 'cancelled')
    else if (run.signal.aborted)
      endAtLimit(run, { limit: 'durationMs', message: 'The time of the turn is up.' })
    else if (tasks.every(({ state }) => state === 'ended')) yield* goOn(run, limit)
    else if (limit !== undefined) endAtLimit(run, limit)
    else yield* playStep(run)
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error
    if (run.signal.aborted) return
    await run.scope.mayAct()
    throw error
  }
}

/** The tasks of the open step, as far as they can be brought. */
async function* playStep(run: Run): AsyncGenerator<Batch, void> {
  // Secrets come with what was taken, and only what is durable is taken.
  if (run.open.credentials && !run.draft.isEmpty) yield* run.commit('on')
  const credentials = await run.credentials()
  await hearAnswers(run)
  if (run.open.credentials && credentials === undefined) {
    askForCredentials(run)
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
  yield* runTasks(run, ready, credentials ?? {})
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
  const outcome: OutcomeReason = run.open.requests.some(({ kind }) => kind === 'auth')
    ? 'auth-required'
    : 'input-required'
  endRun(run, outcome)
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
  else yield* run.commit('tools')
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
  const { key, nursery } = run.scope
  const context = { contextId: key.contextId, turn: run.open.turn, signal: run.stop }
  return run.within(
    runAround({ contextId: key.contextId, [NURSERY]: nursery }, () => leadingOn(run.graph, ended, context)),
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
    ...(leading.waiting === undefined ? {} : { waiting: leading.waiting }),
    ...(leads === undefined ? {} : { leads }),
  }
  run.draft.say('graph.step', data)
}

function finish(run: Run, { waiting }: Leading): void {
  for (const [join, arrived] of Object.entries(waiting ?? {})) {
    const [from = '', to] = join.split('>')
    const missing = from.split('+').filter((node) => !arrived.includes(node))
    const message = `The run is over, and ${to} was never begun: it waited for ${missing.join(', ')}.`
    run.draft.say('warning', { code: 'join-incomplete', message })
  }
  endRun(run, 'stop')
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

function endAtLimit(run: Run, { limit, message }: Reached): void {
  run.draft.say('warning', { code: limit, message: `${message} Go on with null as the input.` })
  endRun(run, 'limit', { limit })
}

/** Whatever broke inside of the loop, the turn ends as failed and says why (R14); what was done stays done. */
async function* giveUp(run: Run, error: unknown): AsyncGenerator<Batch, void> {
  debugThrown(`The run of ${run.graph.name}`, error)
  for (let attempt = 1; ; attempt++) {
    try {
      if (run.session.open === undefined && !startBare(run)) throw error
      run.failedBy(error)
      settleDropped(run, attempt)
      endRun(run, 'failed', { error: failureOf(run, error) })
      yield* run.commit('done')
      return
    } catch (again) {
      if (again === error || attempt > 1 || !endsTurn(again)) throw again
      run.drop()
    }
  }
}

const UNSTORED = 'It came to an end, and its result could not be stored.'

/** Results are not lost with what could not be stored beside them; of one that cannot be stored itself, its status is kept. */
function settleDropped(run: Run, attempt: number): void {
  for (const { type, data } of run.dropped) {
    if (type !== 'effect.end') continue
    const { callId, status, ...end } = data as EntryData['effect.end']
    const rest = attempt === 1 ? end : ({ output: UNSTORED, cut: true } as const)
    if (isStarted(run.session, callId)) run.draft.say('effect.end', { callId, status, ...rest })
  }
}

function failureOf(run: Run, error: unknown): JsonObject {
  const code = HoldfastError.is(error) ? error.code : 'unexpected'
  return { code, message: thrownText(error, run.secrets) }
}
