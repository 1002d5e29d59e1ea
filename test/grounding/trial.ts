/** Generated calls through the judge, with the result of each id against the expected one. */
import { entityMap, type Judgement, judgeCall, MemoryFacts, type Refusal } from '../../src/grounding/index.ts'
import type { Json } from '../../src/protocol/index.ts'
import { filled, keySlot, makeShape } from './shapes.ts'
import { makeSlot, type Slot } from './slots.ts'
import { makeWorld, normalId, type World } from './world.ts'

export interface JudgedSlot {
  readonly way: string
  readonly wanted: 'run' | 'refuse' | 'ask'
  /** `wrong id`: it ran with another id than the intended one. `told`: another id of the call decided it. */
  readonly got: 'run' | 'refuse' | 'ask' | 'wrong id' | 'told'
  readonly story?: string
}

export interface JudgedCall {
  readonly end: 'executed' | 'asked' | 'refused'
  /** Refusals that suggest an id, and those of them that suggest one that is unknown or not similar. */
  readonly advised: number
  readonly misled: readonly string[]
  readonly slots: readonly JudgedSlot[]
}

const ENDS = { ok: 'executed', ask: 'asked', refused: 'refused' } as const

/** All facts of a world's conversation. */
export function factsOf({ active, batches, userText, said, kinds }: World): MemoryFacts {
  const normal = Object.fromEntries(
    kinds.flatMap(({ entity: { name }, isNormal }) => (isNormal ? [[name, normalId]] : [])),
  )
  return new MemoryFacts({ active, batches, userText, said, normal })
}

/** One call with a few ids. The seed decides everything. */
export async function tryCall(seed: number): Promise<JudgedCall> {
  const world = makeWorld(seed)
  const slots = Array.from({ length: world.random.pick([1, 1, 1, 2, 3, 5]) }, () => makeSlot(world))
  const shape = makeShape(world, slots)
  const args = filled(shape.value, (at) => slots[at]?.given ?? null)
  const facts = factsOf(world)
  const entities = entityMap(world.kinds.map((kind) => kind.entity))
  const judgement = await judgeCall({ parameters: shape.schema, args }, { entities, facts, now: world.now })
  const wanted = filled(shape.value, (at) => wantedAt(slots[at]))
  const isExact = judgement.kind !== 'ok' || JSON.stringify(judgement.args) === JSON.stringify(wanted)
  const places = new Map(placesIn({ value: shape.value, slots }, ''))
  const judged = slots.map((slot, at) => {
    const outcome = outcomeOf(judgement, { slot, place: places.get(at) ?? '?' })
    const got = outcome === 'run' && slot.fate.do === 'run' && !isExact ? 'wrong id' : outcome
    const isRight = got === slot.fate.do || got === 'told'
    const story = {
      seed,
      slot: { way: slot.way, given: slot.given, fate: slot.fate, of: slot.kind.entity.name },
      args,
      text: world.userText,
      judgement,
    }
    return { way: slot.way, wanted: slot.fate.do, got, ...(isRight ? {} : { story: JSON.stringify(story) }) }
  })
  const advice = judgement.kind === 'refused' ? judgement.refusals.filter(isAdvice) : []
  const misled = advice
    .filter((refusal) => !isLike(refusal, world))
    .map((refusal) => JSON.stringify({ seed, refusal }))
  return { end: ENDS[judgement.kind], slots: judged, advised: advice.length, misled }
}

function isAdvice({ reason, next }: Refusal): boolean {
  return next.do === 'use' && reason !== 'not-active'
}

/** Known, and similar by its letters, by a word of its label, or because the person names it. */
function isLike({ entity, given, next }: Refusal, { kinds }: World): boolean {
  const kind = kinds.find((each) => each.entity.name === entity)
  const thing = kind?.things.find(({ id }) => id === next.ids?.[0])
  if (thing === undefined) return false
  const isKnown = thing.seen === 'fresh' || thing.isTyped || thing.typedBefore === 'fresh'
  const [text, words] = [JSON.stringify(given).replaceAll('"', ''), thing.label.toLowerCase().split(' ')]
  const most = Math.max(text.length, thing.id.length) / 2
  const isNearWord = (word: string): boolean =>
    plain(text)
      .split(/[^a-z0-9]+/)
      .some((own) => own !== '' && distance(own, plain(word)) <= 2)
  return isKnown && (thing.isNamed || distance(text, thing.id) <= most || words.some(isNearWord))
}

function plain(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
}

/** Letters to add, remove or replace. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (const [i, char] of a.split('').entries()) {
    const next = [i + 1]
    for (const [j, other] of b.split('').entries())
      next.push(Math.min((row[j] ?? 0) + (char === other ? 0 : 1), (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    row = next
  }
  return row[b.length] ?? 0
}

/** The expected input: the intended id, as a number where a number was written. */
function wantedAt(slot: Slot | undefined): Json {
  if (slot?.fate.do !== 'run') return slot?.given ?? null
  return typeof slot.given === 'number' ? Number(slot.fate.id) : slot.fate.id
}

function outcomeOf(judgement: Judgement, { slot, place }: { slot: Slot; place: string }): JudgedSlot['got'] {
  if (judgement.kind === 'refused') {
    if (judgement.refusals.some(({ path }) => path === place)) return 'refuse'
    // A wrongly refused call is found by its refused ids.
    return slot.fate.do === 'refuse' ? 'run' : 'told'
  }
  if (judgement.kind === 'ask') {
    if (judgement.asks.some(({ path }) => path === place)) return 'ask'
    return slot.fate.do === 'run' ? 'told' : 'run'
  }
  if (slot.fate.do !== 'run') return 'run'
  const ground = judgement.grounds.find(({ path }) => path === place)
  return ground?.id === slot.fate.id ? 'run' : 'wrong id'
}

interface Looking {
  readonly value: Json
  readonly slots: readonly Slot[]
}

/** The path of each slot, as text. */
function placesIn({ value, slots }: Looking, here: string): readonly (readonly [number, string])[] {
  if (Array.isArray(value))
    return (value as readonly Json[]).flatMap((item, at) =>
      placesIn({ value: item, slots }, `${here}[${at}]`),
    )
  if (typeof value !== 'object' || value === null) return []
  const { $slot } = value as { $slot?: number }
  if ($slot !== undefined) return [[$slot, here]]
  return Object.entries(value).flatMap(([key, inner]) => {
    const slot = keySlot(key)
    if (slot === undefined)
      return placesIn({ value: inner as Json, slots }, here === '' ? key : `${here}.${key}`)
    const name = String(slots[slot]?.given)
    const isWord = /^[a-z][\w-]*$/i.test(name)
    return [
      [slot, isWord ? (here === '' ? name : `${here}.${name}`) : `${here}[${JSON.stringify(name)}]`] as const,
    ]
  })
}

export interface Tally {
  readonly way: string
  readonly count: number
  readonly allowed: number
  readonly toAsk: number
  /** Disallowed, and yet it would have reached the tool, or another id than the intended one did. */
  readonly leaked: number
  /** Allowed, and yet refused. */
  readonly blocked: number
  /** The person was asked needlessly, or was not asked and should have been. */
  readonly misasked: number
}

export function tally(judged: Iterable<JudgedSlot>): readonly Tally[] {
  const ways = new Map<string, JudgedSlot[]>()
  for (const slot of judged) {
    for (const way of ['all', slot.way]) {
      const list = ways.get(way) ?? []
      list.push(slot)
      ways.set(way, list)
    }
  }
  return [...ways].map(([way, slots]) => {
    const count = (is: (slot: JudgedSlot) => boolean): number => slots.filter(is).length
    return {
      way,
      count: slots.length,
      allowed: count(({ wanted }) => wanted === 'run'),
      toAsk: count(({ wanted }) => wanted === 'ask'),
      leaked: count(({ wanted, got }) => got === 'wrong id' || (wanted !== 'run' && got === 'run')),
      blocked: count(({ wanted, got }) => wanted === 'run' && got === 'refuse'),
      misasked: count(({ wanted, got }) =>
        got === 'ask' ? wanted !== 'ask' : wanted === 'ask' && got === 'refuse',
      ),
    }
  })
}
