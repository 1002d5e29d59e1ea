/**
 * Generated calls through the whole guard: schema conversions, unmarked ids, and conversations below conversations. Each
 * call has one value in question, and its expected result is known before.
 */
import { type Above, entityMap, guardCall, judgeBelow, MemoryFacts } from '../../src/grounding/index.ts'
import type { Json, JsonObject } from '../../src/protocol/index.ts'
import { type Fate, makeSlot, type Slot } from './slots.ts'
import { factsOf, type JudgedSlot } from './trial.ts'
import { makeWorld, type World } from './world.ts'

interface Conversion {
  readonly args: (given: string) => JsonObject
  readonly convert: (args: JsonObject, given: string) => unknown
  /** The expected result, if it differs from the id's. */
  readonly fate?: (slot: Slot, world: World) => Fate | undefined
}

const RUN: Fate = { do: 'run', id: '' }
const asIs = (args: JsonObject): unknown => args
const text = (value: unknown): string => String(value)

const CONVERSIONS: Readonly<Record<string, Conversion>> = {
  'as it is': { args: (id) => ({ id }), convert: asIs },
  trimmed: { args: (id) => ({ id: ` ${id} ` }), convert: ({ id }) => ({ id: text(id).trim() }) },
  completed: {
    args: (id) => ({ id: id.slice(1) }),
    convert: ({ id }, given) => ({ id: given.charAt(0) + text(id) }),
  },
  'taken apart': {
    args: (id) => ({ id: `${id};` }),
    convert: ({ id }) => ({ id: text(id).split(';').filter(Boolean) }),
  },
  'a default': { args: () => ({}), convert: (args, given) => ({ ...args, id: given }) },
  'from another field': { args: (which) => ({ which }), convert: ({ which }) => ({ id: which }) },
  'in an object': { args: (id) => ({ id }), convert: ({ id }) => ({ id: { kind: 'thing', id } }) },
  'in a set': { args: (id) => ({ ids: [id] }), convert: ({ ids }) => ({ ids: new Set(ids as Json[]) }) },
  'instead of another': { args: () => ({ id: 'anything' }), convert: (_, given) => ({ id: given }) },
  'in a field that is not declared': { args: (extra) => ({ extra, n: 1 }), convert: asIs, fate: () => RUN },
  'in a field without a mark': { args: (note) => ({ note }), convert: asIs, fate: unmarkedFate },
  'deep inside of one': {
    args: (note) => ({ deep: { rows: [{ note }] } }),
    convert: asIs,
    fate: unmarkedFate,
  },
  'as a name inside of one': { args: (name) => ({ deep: { [name]: 1 } }), convert: asIs, fate: unmarkedFate },
}

/** One call, none to three conversations below the one that knows. The seed decides everything. */
export async function tryGuarded(seed: number): Promise<JudgedSlot> {
  const world = makeWorld(seed)
  const { random, kinds } = world
  const way = random.pick(Object.keys(CONVERSIONS))
  const conversion = CONVERSIONS[way] as Conversion
  const made = literalSlot(world, conversion)
  // Some worlds lack a suitable kind of id.
  if (made === undefined) return tryGuarded(seed + 7_000_003)
  const { slot, fate } = made
  const given = String(slot.given)
  const mark = slot.kind.entity.id()
  const parameters: JsonObject = {
    type: 'object',
    properties: {
      id: { type: 'string', ...mark },
      ids: { type: 'array', items: { type: 'string', ...mark } },
      note: { type: 'string' },
      deep: { type: 'object' },
      n: { type: 'number' },
    },
  }
  const entities = entityMap(kinds.map((kind) => kind.entity))
  const knowing = factsOf(world)
  const depth = random.between(0, 3)
  const levels = Array.from({ length: depth + 1 }, (_, level) => (level === 0 ? knowing : new MemoryFacts()))
  const [own = knowing, ...above] = levels.toReversed().map((facts) => ({ entities, facts, now: world.now }))
  const args = conversion.args(given)
  const { judgement, converted, dropped } = await guardCall(
    {
      parameters,
      args,
      allowsUnmarked: false,
      convert: async (wanted) =>
        ({ ok: true, input: conversion.convert(wanted as JsonObject, given) }) as const,
    },
    own as Parameters<typeof guardCall>[1],
    aboveOf(above),
  )
  const reached = JSON.stringify(converted.input, (_, value: unknown) =>
    value instanceof Set ? [...value] : value,
  )
  const isLeak = way.includes('not declared') && (reached.includes(given) || dropped.length !== 1)
  const outcome = ({ ok: 'run', ask: 'ask', refused: 'refuse' } as const)[judgement.kind]
  const got = isLeak ? 'wrong id' : outcome
  const story = { seed, depth, slot: { way: slot.way, given, of: slot.kind.entity.name }, args, judgement }
  return {
    way: `${way}${depth === 0 ? '' : ', below'}`,
    wanted: fate.do,
    got,
    ...(got === fate.do ? {} : { story: JSON.stringify(story) }),
  }
}

function aboveOf(levels: readonly Parameters<typeof judgeBelow>[2]['judging'][]): Above | undefined {
  const [judging, ...rest] = levels
  if (judging === undefined) return undefined
  const above = aboveOf(rest)
  return {
    judge: (found, entity) => judgeBelow(found, entity.name, { judging, above }),
    declared: async () => undefined,
    near: async () => ({ near: [] }),
  }
}

/** Spellings of an id as such: a converted value is no label and no position. */
const LITERAL = new Set([
  'right id',
  'chosen id',
  'expired',
  'invented',
  'one character off',
  "another person's",
])

function literalSlot(
  world: World,
  conversion: Conversion,
): { readonly slot: Slot; readonly fate: Fate } | undefined {
  for (let tries = 0; tries < 40; tries++) {
    const slot = makeSlot(world)
    if (!LITERAL.has(slot.way) || slot.kind.style === 'small') continue
    const fate = conversion.fate === undefined ? slot.fate : conversion.fate(slot, world)
    // A converted value is never asked about: an answer could not replace it.
    if (fate !== undefined && fate.do !== 'ask') return { slot, fate }
  }
  return undefined
}

/** Its pattern fits one entity, or none; ambiguous ones are not used. */
function unmarkedFate(slot: Slot, { kinds }: World): Fate | undefined {
  const given = String(slot.given)
  const fitting = kinds.filter(({ entity }) => entity.pattern?.test(given))
  if (fitting.length === 0 || /^\d{1,4}$/.test(given)) return RUN
  return fitting.length === 1 && fitting[0] === slot.kind ? slot.fate : undefined
}
