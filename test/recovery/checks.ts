/**
 * What must hold of a conversation that was cut off and brought to its end, beside the one that was not (R3, R4, R9, R14).
 * Everything here looks at the journal and at the effects, and asks nobody who took part.
 */
import { fold, transcript } from '../../src/journal/index.ts'
import {
  addUsage,
  type ContextKey,
  type Entry,
  type EntryData,
  type Message,
  NO_USAGE,
  type ReplayClass,
  type Usage,
} from '../../src/protocol/index.ts'
import { headFrom, type Store, sameHead } from '../../src/store/index.ts'
import type { Effect } from './world.ts'

/** All journals of the play: the conversation, and those of its sub-agents. */
export interface Journals {
  readonly [contextId: string]: readonly Entry[]
}

export async function readJournals(store: Store, owner: Omit<ContextKey, 'contextId'>): Promise<Journals> {
  const journals: Record<string, readonly Entry[]> = {}
  const read = async (contextId: string): Promise<void> => {
    journals[contextId] = await store.read({ ...owner, contextId })
    const { heads } = await store.list({ owner, parent: contextId })
    for (const { key } of heads) await read(key.contextId)
  }
  await read('talk')
  return journals
}

/** The transcript without what differs from run to run. */
export function told(messages: readonly Message[]): string {
  const numbers = new Map<string, number>()
  const lines = messages.map((message) => {
    if (message.role === 'user') return `user: ${JSON.stringify(message.content)}`
    if (message.role === 'tool')
      return message.content
        .map(({ callId, status, output }) => {
          const said = status === 'unknown' ? 'unknown' : `${status} ${plain(output)}`
          return `  ${numbers.get(callId)}: ${said}`
        })
        .join('\n')
    return `${message.model}: ${message.content
      .map((part) => {
        if (part.type !== 'tool-call') return part.text
        numbers.set(part.callId, numbers.size + 1)
        return `[${numbers.get(part.callId)} ${part.tool} ${JSON.stringify(part.args)}]`
      })
      .join(' ')}`
  })
  return lines.join('\n')
}

function plain(output: unknown): string {
  return JSON.stringify(output).replaceAll(/p\d+\.call_\d+/g, 'call')
}

/** Calls that had been started and not settled, by how they may be run again. */
export function hanging(journals: Journals): Map<string, ReplayClass> {
  const found = new Map<string, ReplayClass>()
  for (const entries of Object.values(journals))
    for (const { callId, state, replay = 'never' } of fold(entries).open?.calls ?? [])
      if (state === 'started') found.set(callId, replay)
  return found
}

/** Tools that can tell whether they have happened. */
const KNOWING = ['send', 'write_to_file', 'replace_in_file']
/** Tools whose effects nobody writes down: those of sub-agents are in their own journals, files are read at the end. */
const UNSEEN = ['helper', 'read_file', 'list_files', 'write_to_file', 'replace_in_file']

/**
 * R3, R4: "unknown" can only arise between a start and its settlement, and there it must, unless the call may be run
 * again or its tool knows. When a turn is cancelled, nothing is run again.
 */
export function* unknownProblems(
  journals: Journals,
  unsettled: ReadonlyMap<string, ReplayClass>,
): Generator<string> {
  for (const entries of Object.values(journals)) {
    const cancelled = new Set(
      of(entries, 'turn.end').flatMap(({ turn, data }) => (data.outcome === 'cancelled' ? [turn] : [])),
    )
    for (const { turn, data } of of(entries, 'tool.end')) {
      const { callId, status } = data
      const start = of(entries, 'tool.start').find((entry) => entry.data.callId === callId)?.data
      const may = start?.replay === 'safe' || KNOWING.includes(start?.tool ?? '')
      const isUnknown = status === 'unknown'
      if (isUnknown && !unsettled.has(callId)) yield `${callId} is unknown, and nobody died while it ran`
      if (isUnknown && may && !cancelled.has(turn)) yield `${callId} is unknown, and could have run again`
      if (!isUnknown && !may && unsettled.has(callId)) yield `${callId} is ${status}, and nobody can know`
    }
  }
}

export function* problemsOf(journals: Journals, effects: readonly Effect[]): Generator<string> {
  for (const [contextId, entries] of Object.entries(journals))
    for (const problem of [
      ...turnProblems(entries),
      ...callProblems(entries, effects),
      ...legalProblems(entries),
      ...totalProblems(entries),
    ])
      yield `${contextId}: ${problem}`
}

function of<T extends keyof EntryData>(
  entries: readonly Entry[],
  type: T,
): (Entry & { data: EntryData[T] })[] {
  return entries.filter((entry) => entry.type === type) as (Entry & { data: EntryData[T] })[]
}

/** R2, R14: each input is heard once, each turn ends once, and nothing is left lying. */
export function* turnProblems(entries: readonly Entry[]): Generator<string> {
  const starts = of(entries, 'turn.start').map(({ turn }) => turn)
  const ends = of(entries, 'turn.end').map(({ turn }) => turn)
  if (starts.join() !== starts.map((_, index) => index + 1).join()) yield `turns ${starts.join()} were begun`
  if (starts.join() !== ends.join()) yield `turns ${starts.join()} were begun and ${ends.join()} ended`
  const taken = entries.flatMap(({ takes = [] }) => takes)
  const posted = entries.filter(({ key }) => key !== undefined).map(({ seq }) => seq)
  if (taken.toSorted(byNumber).join() !== posted.join())
    yield `posted ${posted.join()}, taken ${taken.join()}`
}

/** R3, R4: settled once; what may not run again ran at most once; every run of a call has the same key. */
export function* callProblems(entries: readonly Entry[], effects: readonly Effect[]): Generator<string> {
  const started = of(entries, 'tool.start')
  const ends = of(entries, 'tool.end')
  for (const { content } of of(entries, 'model.end').map(({ data }) => data))
    for (const part of content) {
      if (part.type !== 'tool-call') continue
      const { callId, tool } = part
      const settled = ends.filter(({ data }) => data.callId === callId).map(({ data }) => data.status)
      if (settled.length !== 1) yield `${tool} ${callId} was settled ${settled.length} times`
      const start = started.find(({ data }) => data.callId === callId)?.data
      const runs = effects.filter((effect) => effect.callId === callId)
      if (runs.length > 0 && start === undefined) yield `${tool} ${callId} ran without being started`
      if (runs.length > 1 && start?.replay !== 'safe') yield `${tool} ${callId} ran ${runs.length} times`
      if (new Set(runs.map(({ key }) => key)).size > 1) yield `${tool} ${callId} ran under several keys`
      if (settled[0] === 'ok' && runs.length === 0 && !UNSEEN.includes(tool))
        yield `${tool} ${callId} never ran`
    }
}

/** R9: each call is answered right after the message that asked for it, by all and only its results. */
export function* legalProblems(entries: readonly Entry[]): Generator<string> {
  const messages = transcript(entries)
  for (const [index, message] of messages.entries()) {
    const before = messages[index - 1]
    if (message.role === 'tool' && before?.role !== 'assistant') yield `results at ${index} answer nothing`
    if (message.role !== 'assistant') continue
    const asked = message.content.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : []))
    const next = messages[index + 1]
    const answered = next?.role === 'tool' ? next.content.map(({ callId }) => callId) : []
    if (asked.join() !== answered.join()) yield `asked ${asked.join()}, answered ${answered.join()}`
  }
}

export function* totalProblems(entries: readonly Entry[]): Generator<string> {
  const { totals: counted } = fold(entries)
  const started = new Set(of(entries, 'tool.start').map(({ data }) => data.callId))
  const replies = [...of(entries, 'model.end'), ...of(entries, 'tool.end'), ...of(entries, 'node.end')]
  const below = of(entries, 'usage').map(({ data }) => data)
  const summaries = of(entries, 'compact').map(({ data }) => (data.receipt ?? {}) as { usage?: Usage })
  const used = [...replies.map(({ data }) => data), ...below, ...summaries].flatMap(
    ({ usage }) => usage ?? [],
  )
  const ended = of(entries, 'turn.end').map(({ data }) => data.usage)
  const sum = (list: typeof used) => JSON.stringify(list.reduce(addUsage, NO_USAGE))
  const expected = [of(entries, 'turn.start').length, of(entries, 'model.start').length, started.size]
  const found = [counted.turns, counted.modelCalls, counted.toolCalls]
  if (found.join() !== expected.join()) yield `totals say ${found.join()}, counting says ${expected.join()}`
  if (sum(used) !== JSON.stringify(counted.usage)) yield `used ${sum(used)}, totals say otherwise`
  if (sum(used) !== sum(ended)) yield `used ${sum(used)}, the ends of turns say ${sum(ended)}`
}

/** R6: the head row is what the journal says. */
export async function headProblem(store: Store, key: ContextKey): Promise<string | undefined> {
  const head = await store.head(key)
  const rebuilt = head && headFrom(head, undefined, await store.read(key))
  if (head === undefined || rebuilt === undefined) return 'there is no head row'
  if (head.lease !== undefined) return `${head.lease.driver} still holds it`
  return sameHead(head, rebuilt) ? undefined : 'the head row is not what the journal says'
}

function byNumber(a: number, b: number): number {
  return a - b
}
