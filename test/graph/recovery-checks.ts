/**
 * Invariants of a graph's journals after crashes and recovery, compared with an uninterrupted run (R3, R4, R12, R14).
 * Only journals and effects are inspected, never the processes.
 */
import { isDeepStrictEqual } from 'node:util'
import { fold, loadSession, type Session, transcript, valueIn } from '../../src/journal/index.ts'
import {
  addUsage,
  type Entry,
  type EntryData,
  type Json,
  type JsonObject,
  NO_USAGE,
  type Owner,
  type ReplayClass,
} from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { type Journals, told } from '../recovery/checks.ts'
import { sameText } from '../recovery/cut.ts'
import type { Effect } from '../recovery/world.ts'

function of<T extends keyof EntryData>(
  entries: readonly Entry[],
  type: T,
): (Entry & { data: EntryData[T] })[] {
  return entries.filter((entry) => entry.type === type) as (Entry & { data: EntryData[T] })[]
}

/** Effects that were started and not settled, by their replay mode; under the names in the world. */
export function hangingEffects(journals: Journals): Map<string, ReplayClass> {
  const found = new Map<string, ReplayClass>()
  for (const entries of Object.values(journals))
    for (const { effects = [] } of fold(entries).graph?.tasks ?? [])
      for (const { idempotencyKey, status, replay } of effects)
        if (status === undefined) found.set(idempotencyKey, replay)
  return found
}

/**
 * `unknown` arises only between a start and its settlement, and must arise there unless the effect may be repeated or
 * verified.
 */
export function* unknownEffectProblems(
  journals: Journals,
  unsettled: ReadonlyMap<string, ReplayClass>,
  lookedUp: ReadonlySet<string> = new Set(),
): Generator<string> {
  for (const entries of Object.values(journals)) {
    const cancelled = of(entries, 'turn.end').some(({ data }) => data.outcome === 'cancelled')
    const starts = new Map(of(entries, 'effect.start').map(({ data }) => [data.callId, data]))
    for (const { callId, status } of of(entries, 'effect.end').map(({ data }) => data)) {
      const { replay, idempotencyKey = '' } = starts.get(callId) ?? {}
      const may = replay === 'safe' || lookedUp.has(idempotencyKey)
      const wasCut = unsettled.has(idempotencyKey)
      if (status === 'unknown' && !wasCut) yield `${callId} is unknown, and nobody died while it ran`
      if (status === 'unknown' && may && !cancelled) yield `${callId} is unknown, and could have run again`
      if (status !== 'unknown' && !may && wasCut) yield `${callId} is ${status}, and nobody can know`
    }
  }
}

export function* graphProblems(entries: readonly Entry[], effects: readonly Effect[]): Generator<string> {
  yield* effectProblems(entries, effects)
  yield* taskProblems(entries)
}

/** R3, R4: an effect is started before it runs, settled once, and runs at most once unless it may be repeated. */
function* effectProblems(entries: readonly Entry[], effects: readonly Effect[]): Generator<string> {
  const ends = of(entries, 'effect.end')
  const known = new Set<string>()
  for (const { seq, data } of of(entries, 'effect.start')) {
    const { callId, idempotencyKey, replay } = data
    if (known.has(callId)) yield `${callId} was begun twice`
    known.add(callId)
    const settled = ends.filter((end) => end.data.callId === callId)
    if (settled.length !== 1) yield `${callId} was settled ${settled.length} times`
    if (settled.some((end) => end.seq < seq)) yield `${callId} was settled before it was begun`
    const runs = effects.filter(({ key }) => key === idempotencyKey).length
    if (runs > 1 && replay !== 'safe') yield `${callId} was done ${runs} times`
    if (runs === 0 && settled[0]?.data.status === 'ok') yield `${callId} was never done`
  }
  for (const { data } of ends) if (!known.has(data.callId)) yield `${data.callId} was never begun`
}

/** Every task has a unique name, starts before it ends, and ends at most once. */
function* taskProblems(entries: readonly Entry[]): Generator<string> {
  const begun = new Set<string>()
  for (const { task } of of(entries, 'graph.step').flatMap(({ data }) => data.tasks)) {
    if (begun.has(task)) yield `there are two tasks ${task}`
    begun.add(task)
  }
  const ended = of(entries, 'node.end').filter(({ data }) => data.error === undefined)
  const names = ended.map(({ data }) => data.task)
  for (const task of names) if (!begun.has(task)) yield `${task} ended and was never begun`
  if (new Set(names).size !== names.length) yield `a task ended twice: ${names.join()}`
  const { outcome } = fold(entries)
  if (outcome === 'stop' && begun.size > 0 && names.length !== begunSinceStart(entries, begun))
    yield `${begun.size} tasks were begun and ${names.length} ended`
}

/** Tasks that a new input replaced never end. */
function begunSinceStart(entries: readonly Entry[], begun: ReadonlySet<string>): number {
  const left = of(entries, 'graph.start').flatMap(({ seq }) => {
    const before = fold(entries.filter((entry) => entry.seq < seq)).graph
    return before?.tasks.filter(({ state }) => state !== 'ended') ?? []
  })
  return begun.size - left.length
}

/** R17: usage below counts above, whichever level asked or failed. */
export function* usageProblems(journals: Journals): Generator<string> {
  const usedIn = (contextId: string) => fold(journals[contextId] ?? []).totals.usage
  for (const [contextId, entries] of Object.entries(journals)) {
    if (of(entries, 'graph.start').length === 0) continue
    const isChild = (id: string) =>
      id.startsWith(`${contextId}/`) && !id.slice(contextId.length + 1).includes('/')
    const below = Object.keys(journals).filter(isChild).map(usedIn).reduce(addUsage, NO_USAGE)
    const here = usedIn(contextId)
    if (!isDeepStrictEqual(here, below))
      yield `${contextId} used ${JSON.stringify(here)}, and below it ${JSON.stringify(below)} were used`
  }
}

/** R12: a fold from scratch, whole or with a snapshot after each entry, equals the loaded session. */
export async function* foldProblems(store: Store, owner: Owner, journals: Journals): AsyncGenerator<string> {
  for (const [contextId, entries] of Object.entries(journals)) {
    const whole = fold(entries)
    if (!isDeepStrictEqual(await loadSession(store, { ...owner, contextId }), whole))
      yield `${contextId}: what is loaded is not what its entries say`
    const kept = entries.reduce((session, entry) => storedAndLoaded(fold([entry], session)), fold([]))
    if (!isDeepStrictEqual(kept, whole)) yield `${contextId}: it folds otherwise from what was kept`
  }
}

/** As a snapshot is. */
function storedAndLoaded(session: Session): Session {
  return JSON.parse(JSON.stringify(session)) as Session
}

/** A journal without values that differ between runs: the state after each step, then the outcome. */
export interface Reading {
  readonly steps: readonly string[]
  /** Each task, with the ends of its attempts. */
  readonly tasks: readonly string[]
  readonly ends: readonly string[]
}

export function readingOf(entries: readonly Entry[]): Reading {
  const steps: string[] = []
  let session = fold([])
  for (const entry of entries) {
    session = fold([entry], session)
    if (entry.type !== 'graph.start' && entry.type !== 'graph.step') continue
    const { turn, graph } = session
    const { step = 0, tasks = [], state = {}, waiting = {} } = graph ?? {}
    const begun = tasks.map(({ task, input }) =>
      input === undefined ? task : `${task}=${JSON.stringify(input)}`,
    )
    steps.push(`turn ${turn} step ${step}: ${begun.join(' ')} ${JSON.stringify(waiting)}`)
    for (const channel of Object.keys(state).toSorted())
      steps.push(...linesOf(channel, valueIn(state, channel)))
  }
  if (steps.length === 0) steps.push(...told(transcript(entries)).split('\n'))
  const ends = of(entries, 'turn.end').map(({ turn, data: { outcome, error, limit = '' } }) => {
    const { code = '', node = '', task = '' } = (error ?? {}) as Record<string, string>
    return `turn ${turn}: ${[outcome, limit, code, node, task].filter((word) => word !== '').join(' ')}`
  })
  const begun = of(entries, 'graph.step').flatMap(({ data }) => data.tasks)
  const tasks = begun.map(({ task }) => {
    const attempts = of(entries, 'node.end').filter(({ data }) => data.task === task)
    return taskLine(
      task,
      attempts.map(({ data: { error } }) => (error === undefined ? 'ended' : codeOf(error))),
    )
  })
  return { steps: withoutIds(steps), tasks, ends }
}

/** Calls by the order of their appearance: a model that is asked again gives them other ids. */
function withoutIds(steps: readonly string[]): readonly string[] {
  const names = new Map<string, string>()
  const nameOf = (id: string): string => {
    const name = names.get(id) ?? `call ${names.size + 1}`
    names.set(id, name)
    return name
  }
  return steps.map((step) =>
    step.replaceAll(/(?:p\d+\.)?call_\w+/g, nameOf).replaceAll(/"providerId":"\w+",/g, ''),
  )
}

export function taskLine(task: string, attempts: readonly string[]): string {
  return `${task}: ${attempts.join(', ')}`
}

function codeOf({ code = '', next = '' }: JsonObject): string {
  return `${JSON.stringify(code)} ${JSON.stringify(next)}`.replaceAll('"', '')
}

/** Items of lists have lines of their own, and may read `unknown`. */
function linesOf(channel: string, held: Json | undefined): string[] {
  if (!Array.isArray(held)) return [`${channel}: ${JSON.stringify(held)}`]
  return [
    `${channel}:`,
    ...held.map((item, index) => `  ${index + 1}: ${typeof item === 'string' ? item : JSON.stringify(item)}`),
  ]
}

export function textOfReading({ steps, tasks, ends }: Reading): string {
  return [...steps, ...tasks, ...ends].join('\n')
}

/** Effects and calls of unknown outcome. */
export function unknownCount(journals: Journals): number {
  const entries = Object.values(journals).flat()
  const ends = [...of(entries, 'effect.end'), ...of(entries, 'tool.end')]
  return ends.filter(({ data }) => data.status === 'unknown').length
}

/** Equal but for unknown outcomes; a run that failed because of one is equal up to there. */
export function sameReading(here: Reading, whole: Reading): boolean {
  if (!here.ends.some((end) => end.includes('failed unknown-outcome')))
    return sameText(textOfReading(here), textOfReading(whole))
  return sameText(here.steps.join('\n'), whole.steps.slice(0, here.steps.length).join('\n'))
}
