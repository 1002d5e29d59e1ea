/**
 * Where the run of a graph stands (R12): its state, the tasks of the step that is open, and what each of them has done.
 * Pure functions from one position to the next; an entry that makes no sense where it stands changes nothing.
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
import { type GraphState, withChanges, withUpdate } from './graph-state.ts'

export type GraphPosition = {
  readonly graph: string
  readonly channels: ChannelKinds
  readonly state: GraphState
  /** Steps begun in this turn. */
  readonly step: number
  /** Tasks begun in this conversation: the next one has a name that no other had. */
  readonly count: number
  /** Those of the step that is open, in the order in which what they say will count. Empty between steps. */
  readonly tasks: readonly GraphTask[]
  /** The nodes of the step before: where they lead is where it goes on. Empty at the start. */
  readonly after: readonly string[]
  /** Of each join that is not complete, who has arrived. */
  readonly waiting?: { readonly [join: string]: readonly string[] }
  /** Where the step before leads, if that is known and was not gone yet. */
  readonly leads?: EntryData['graph.step']['leads']
  /** Where the newest words of persons are: what the run was given, unless that came from a call, and answers. */
  readonly said?: readonly number[]
  /** The call that the run was asked for by, if it was one. */
  readonly origin?: InputOrigin
  /** The newest things that nodes vouch for, oldest first. */
  readonly seen?: readonly SeenInRun[]
  /** Values of the runs that begin when this one is over, oldest first. */
  readonly queued?: readonly EntryData['graph.queue'][]
  /** The run was asked for with credentials, and whoever goes on with it needs those (R19). */
  readonly credentials?: true
}

export type SeenInRun = Sighting & { readonly at: number; readonly seq: number }

/** More are forgotten, the oldest first. */
const MAX_SAID = 50
const MAX_SEEN = 200

export type GraphTask = {
  readonly task: string
  readonly node: string
  /** `begun`: it is to be run, once more if it was run before. `failed`: until the next turn tries it again. */
  readonly state: 'begun' | 'ended' | 'failed'
  /** Which attempt is next, how many have failed in this turn, and not before when. */
  readonly attempt: number
  readonly failures: number
  readonly until?: number
  readonly input?: Json
  readonly update?: JsonObject
  /** Why it failed. */
  readonly error?: JsonObject
  /** What those below it had used when that was last counted, by their keys. */
  readonly below?: { readonly [key: string]: Usage }
  /** What it has done already, by key: none of it is done again. */
  readonly effects?: readonly Effect[]
  /** What it asked and was told. */
  readonly answers?: readonly TaskAnswer[]
}

export type Effect = {
  readonly callId: string
  readonly key: string
  readonly replay: ReplayClass
  readonly idempotencyKey: string
  /** Of the node: an effect that is known to have failed may be tried again by the next one. */
  readonly attempt: number
  /** How often it was begun. */
  readonly tries: number
  /** Absent while nobody knows how it ended. */
  readonly status?: SettledStatus
  readonly output?: Json
  /** The result was too large to be stored. */
  readonly cut?: true
}

export type TaskAnswer = {
  readonly requestId: string
  /** Of a question that can be answered in two ways. */
  readonly kind?: 'confirmation'
  readonly name?: string
  readonly how: 'answered' | 'expired' | 'cancelled'
  readonly value?: Json
  /** Where it was posted, if no person gave it. */
  readonly origin?: InputOrigin
}

export function beginRun(
  before: GraphPosition | undefined,
  { graph, channels, update, changes = {}, origin }: EntryData['graph.start'],
  seq: number,
): GraphPosition {
  const state = withUpdate(withChanges(before?.state ?? {}, channels, changes), channels, update)
  const queued = before?.queued?.slice(1) ?? []
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

export function queueRun(before: GraphPosition, queued: EntryData['graph.queue']): GraphPosition {
  return { ...before, queued: [...(before.queued ?? []), queued] }
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

/** The state with what the tasks of the open step have said, in their order; without what reducers have to say. */
export function joined({ state, channels, tasks }: GraphPosition): GraphState {
  return tasks.reduce((sum, { update = {} }) => withUpdate(sum, channels, update), state)
}

/**
 * A new turn counts its steps anew, and tries again what failed. Where the last one was cut off, effects that did not go
 * well may have been, too: they may be tried again in the attempt that there is.
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

function mayBeTriedAgain(effect: Effect): Effect {
  return effect.status === 'error' ? { ...effect, attempt: 0 } : effect
}

/** What nobody answered in time and made it fail can be answered when it is tried again. */
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

/** `below`: what those that a task ran have used in all; that much was counted. */
export function countBelow(
  before: GraphPosition,
  task: string,
  below: EntryData['usage']['below'],
): GraphPosition {
  return withTask(before, task, (one) => ({ ...one, below: { ...one.below, ...below } }))
}

/** Each thing once, where it was seen last. */
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

/** Once it is known how it ended, that stays; of an unknown one it may come to be known later. */
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

/** A conversation that branches off here has started nothing of what is open. */
export function forkRun(before: GraphPosition): GraphPosition {
  const tasks = before.tasks.map((task): GraphTask => {
    const { effects, answers: _, ...rest } = task
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
  const tasks = before.tasks.map((task) => (task.task === name ? change(task) : task))
  return { ...before, tasks }
}
