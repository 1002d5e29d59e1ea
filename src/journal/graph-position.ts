/**
 * The position of a graph's run (R12): its state, the tasks of the open step, and their progress. Pure functions from
 * one position to the next; an entry that is invalid at its position changes nothing.
 */
import type {
  ChannelKinds,
  EntryData,
  InputOrigin,
  Json,
  JsonObject,
  OutcomeReason,
  ReplayClass,
  SettledStatus,
  Sighting,
  Usage,
} from '../protocol/index.ts'
import { type GraphState, withChanges, withUpdate, withUpdates } from './graph-state.ts'

export type GraphPosition = {
  readonly graph: string
  readonly channels: ChannelKinds
  readonly state: GraphState
  /** Steps begun in this turn. */
  readonly step: number
  /** Tasks begun in this conversation: numbers the next task's name. */
  readonly count: number
  /** Tasks of the open step, in the order in which their updates apply. Empty between steps. */
  readonly tasks: readonly GraphTask[]
  /** Nodes of the previous step: the run continues along their edges. Empty at the start. */
  readonly after: readonly string[]
  /** Arrivals at each incomplete join. */
  readonly waiting?: { readonly [join: string]: readonly string[] }
  /** Targets of the previous step that have not run yet, if known. */
  readonly leads?: EntryData['graph.step']['leads']
  /** Positions of the person's newest words: the run's input, unless a call posted it, and answers. */
  readonly said?: readonly number[]
  /** The call that requested the run, if any. */
  readonly origin?: InputOrigin
  /** The newest things that nodes vouch for, oldest first. */
  readonly seen?: readonly SeenInRun[]
  /** Inputs of the runs that follow this one, oldest first. */
  readonly queued?: readonly EntryData['graph.queue'][]
  /** The run was requested with credentials, which every driver of it needs (R19). */
  readonly credentials?: true
}

export type SeenInRun = Sighting & { readonly at: number; readonly seq: number }

/** Beyond this, the oldest are dropped. */
const MAX_SAID = 50
const MAX_SEEN = 200

export type GraphTask = {
  readonly task: string
  readonly node: string
  /** `begun`: to be run, again if it ran before. `failed`: until the next turn retries it. */
  readonly state: 'begun' | 'ended' | 'failed'
  /** The next attempt, the failures since the task began or last failed for good, and the earliest time. */
  readonly attempt: number
  readonly failures: number
  readonly until?: number
  readonly input?: Json
  readonly update?: JsonObject
  readonly error?: JsonObject
  /** Counted usage of its children, by key. */
  readonly below?: { readonly [key: string]: Usage }
  /** Effects so far, by key: none runs again. */
  readonly effects?: readonly GraphEffect[]
  readonly answers?: readonly TaskAnswer[]
}

export type GraphEffect = {
  readonly callId: string
  readonly key: string
  readonly replay: ReplayClass
  readonly idempotencyKey: string
  /** Attempt of the node: a later one may retry an effect that failed. */
  readonly attempt: number
  /** Number of starts. */
  readonly tries: number
  /** Absent while the outcome is not known. */
  readonly status?: SettledStatus
  readonly output?: Json
  readonly cut?: true
}

export type TaskAnswer = {
  readonly requestId: string
  /** Present for a yes-or-no question. */
  readonly kind?: 'confirmation'
  readonly name?: string
  readonly how: 'answered' | 'expired' | 'cancelled'
  readonly value?: Json
  /** Origin of the answer, if no person gave it. */
  readonly origin?: InputOrigin
  /** Of the question, as in `request.start`; absent in journals of older versions. */
  readonly inputKey?: string
}

export function beginRun(
  before: GraphPosition | undefined,
  { graph, channels, update, changes = {}, origin, ahead }: EntryData['graph.start'],
  seq: number,
): GraphPosition {
  const state = withUpdate(withChanges(before?.state ?? {}, channels, changes), channels, update)
  const queued = before?.queued?.slice(ahead ? 0 : 1) ?? []
  return {
    graph,
    channels,
    state,
    step: 0,
    count: before?.count ?? 0,
    tasks: [],
    after: [],
    ...(before?.seen === undefined ? {} : { seen: before.seen }),
    ...(queued.length === 0 ? {} : { queued }),
    ...(origin === undefined ? { said: [...(before?.said ?? []), seq].slice(-MAX_SAID) } : { origin }),
  }
}

/** Values of channels that the code has dropped stay in the state. */
export function adoptChannels(
  before: GraphPosition,
  { channels: changed, changes = {} }: EntryData['graph.channels'],
): GraphPosition {
  const channels = { ...before.channels, ...changed }
  return { ...before, channels, state: withChanges(before.state, channels, changes) }
}

export function queueRun(before: GraphPosition, queued: EntryData['graph.queue']): GraphPosition {
  return { ...before, queued: [...(before.queued ?? []), queued] }
}

/** The code of the warning that the first queued input cannot start. */
export const INPUT_DROPPED = 'input-dropped'

export function dropQueued({ queued = [], ...rest }: GraphPosition): GraphPosition {
  return queued.length < 2 ? rest : { ...rest, queued: queued.slice(1) }
}

export function beginStep(
  before: GraphPosition,
  { tasks, changes = {}, waiting, leads }: EntryData['graph.step'],
): GraphPosition {
  const { waiting: _, leads: _gone, ...rest } = before
  return {
    ...rest,
    state: withChanges(joined(before), before.channels, changes),
    step: before.step + (tasks.length > 0 ? 1 : 0),
    count: before.count + tasks.length,
    tasks: tasks.map((task): GraphTask => ({ ...task, state: 'begun', attempt: 1, failures: 0 })),
    after: before.tasks.length > 0 ? before.tasks.map(({ node }) => node) : before.after,
    ...(waiting === undefined ? {} : { waiting }),
    ...(leads === undefined ? {} : { leads }),
  }
}

/** The state with the updates of the open step's tasks, in order; without reducers. */
export function joined({ state, channels, tasks }: GraphPosition): GraphState {
  return withUpdates(
    state,
    channels,
    tasks.map(({ update = {} }) => update),
  )
}

/**
 * A new turn restarts the step count and retries failed tasks. If the last one was interrupted, failed effects may have
 * been, too: the current attempt may retry them.
 */
export function resumeRun(before: GraphPosition, last: OutcomeReason | undefined): GraphPosition {
  const isCutOff = last === 'cancelled' || last === 'limit'
  const tasks = before.tasks.map((task): GraphTask => {
    const { until: _, error: _error, ...rest } = task
    if (task.state === 'failed') return { ...rest, ...askAgain(task), state: 'begun', failures: 0 }
    return task.state === 'begun' && isCutOff && task.effects !== undefined
      ? { ...task, effects: task.effects.map(mayBeTriedAgain) }
      : task
  })
  return { ...before, step: 0, tasks }
}

function mayBeTriedAgain(effect: GraphEffect): GraphEffect {
  return effect.status === 'error' ? { ...effect, attempt: 0 } : effect
}

/** A request whose expiry failed the task can be answered in the retry. */
function askAgain({ error, answers = [] }: GraphTask): Pick<GraphTask, 'answers'> {
  if (error?.['code'] !== 'expired') return {}
  return {
    answers: answers.map((answer) => (answer.how === 'expired' ? { ...answer, how: 'cancelled' } : answer)),
  }
}

export function endNode(
  before: GraphPosition,
  { task, update, error, below, seen = [] }: EntryData['node.end'],
  { at, seq }: { readonly at: number; readonly seq: number },
): GraphPosition {
  const known = seen.length === 0 ? before : { ...before, seen: withSeen(before.seen, seen, { at, seq }) }
  return withTask(known, task, (one) => {
    const { until: _, ...rest } = one
    if (rest.state === 'ended') return rest
    if (error === undefined) return { ...rest, state: 'ended', ...(update === undefined ? {} : { update }) }
    const { next, waitMs } = error
    const used = below === undefined ? {} : { below: { ...rest.below, ...below } }
    const tried = { ...rest, ...used, attempt: rest.attempt + 1, failures: rest.failures + 1 }
    if (next !== 'retry') return { ...tried, state: 'failed', error }
    return { ...tried, until: at + (typeof waitMs === 'number' ? waitMs : 0) }
  })
}

/** `below`: total usage of the task's children, now counted. */
export function countBelow(
  before: GraphPosition,
  task: string,
  below: EntryData['usage']['below'],
): GraphPosition {
  return withTask(before, task, (one) => ({ ...one, below: { ...one.below, ...below } }))
}

/** Each thing once, at its last sighting. */
function withSeen(
  before: readonly SeenInRun[] = [],
  seen: readonly Sighting[],
  where: { readonly at: number; readonly seq: number },
): readonly SeenInRun[] {
  const isAgain = (one: Sighting): boolean =>
    seen.some(({ entity, id }) => entity === one.entity && id === one.id)
  const added = seen.map((one): SeenInRun => ({ ...one, ...where }))
  return [...before.filter((one) => !isAgain(one)), ...added].slice(-MAX_SEEN)
}

export function startEffect(before: GraphPosition, data: EntryData['effect.start']): GraphPosition {
  const { task, callId, key, replay, idempotencyKey } = data
  return withTask(before, task, (one) => {
    const { effects = [], attempt } = one
    const tries = (effects.find((effect) => effect.key === key)?.tries ?? 0) + 1
    const others = effects.filter((effect) => effect.key !== key)
    return { ...one, effects: [...others, { callId, key, replay, idempotencyKey, attempt, tries }] }
  })
}

/** A known outcome is final; an unknown one may become known later. */
export function endEffect(
  before: GraphPosition,
  { callId, status, output, cut }: EntryData['effect.end'],
): GraphPosition {
  const end = { status, output, ...(cut ? { cut } : {}) }
  const owner = before.tasks.find(({ effects = [] }) => effects.some((effect) => effect.callId === callId))
  if (owner === undefined) return before
  return withTask(before, owner.task, (task) => ({
    ...task,
    effects: (task.effects ?? []).map((effect) =>
      effect.callId === callId && (effect.status === undefined || effect.status === 'unknown')
        ? { ...effect, ...end }
        : effect,
    ),
  }))
}

export function answerTask(
  before: GraphPosition,
  task: string,
  { seq, ...answer }: TaskAnswer & { readonly seq: number },
): GraphPosition {
  const isPersons = answer.how === 'answered' && answer.origin === undefined
  const said = isPersons ? { said: [...(before.said ?? []), seq].slice(-MAX_SAID) } : {}
  return withTask({ ...before, ...said }, task, (one) => ({
    ...one,
    answers: [...(one.answers ?? []), answer],
  }))
}

/** A fork keeps the answers, and has started none of the open effects. */
export function forkRun(before: GraphPosition): GraphPosition {
  const tasks = before.tasks.map((task): GraphTask => {
    const { effects, ...rest } = task
    const known = effects?.filter(({ status }) => status !== undefined) ?? []
    return known.length === 0 ? rest : { ...rest, effects: known }
  })
  return { ...before, tasks }
}

export function clearRun({ graph, channels, count }: GraphPosition): GraphPosition {
  return { graph, channels, state: {}, step: 0, count, tasks: [], after: [] }
}

function withTask(
  before: GraphPosition,
  name: string,
  change: (task: GraphTask) => GraphTask,
): GraphPosition {
  const places = placesOf(before.tasks)
  const at = places.get(name) ?? -1
  const task = before.tasks[at]
  if (task === undefined) return before
  const tasks = before.tasks.with(at, change(task))
  placesByTasks.set(tasks, places)
  return { ...before, tasks }
}

/** The places of a step's tasks by their names. All versions of a step share them, since no change moves a task. */
const placesByTasks = new WeakMap<GraphPosition['tasks'], ReadonlyMap<string, number>>()

function placesOf(tasks: GraphPosition['tasks']): ReadonlyMap<string, number> {
  const known = placesByTasks.get(tasks)
  if (known !== undefined) return known
  const places = new Map(tasks.map(({ task }, at) => [task, at]))
  placesByTasks.set(tasks, places)
  return places
}

/** A task of the open step by its name, in constant time. */
export function taskNamed({ tasks }: GraphPosition, name: string): GraphTask | undefined {
  return tasks[placesOf(tasks).get(name) ?? -1]
}
