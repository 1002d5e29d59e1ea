/** Random schemas around ids, with arguments that fit them: nested, listed, named, referred to, alternative. */
import type { Json, JsonObject } from '../../src/protocol/index.ts'
import type { Slot } from './slots.ts'
import type { World } from './world.ts'

/** A schema, and arguments in which `{ $slot: n }` stands for the written value and for the expected one. */
export interface Shape {
  readonly schema: JsonObject
  readonly value: Json
}

interface Making {
  readonly world: World
  readonly slots: readonly Slot[]
  readonly defs: Record<string, JsonObject>
}

export function makeShape(world: World, slots: readonly Slot[]): Shape {
  const making: Making = { world, slots, defs: {} }
  const { schema, value } = group(
    making,
    slots.map((_, at) => at),
    world.random.between(0, 3),
  )
  const isObject = schema['type'] === 'object'
  const top = isObject ? { schema, value } : inObject(making, [{ schema, value }])
  const defs = Object.keys(making.defs).length === 0 ? {} : { $defs: making.defs }
  return { schema: { ...top.schema, ...defs }, value: top.value }
}

/** The arguments with a value at each slot. */
export function filled(value: Json, fill: (slot: number) => Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => filled(item, fill))
  if (typeof value !== 'object' || value === null) return value
  const { $slot } = value as JsonObject
  if (typeof $slot === 'number') return fill($slot)
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const slot = keySlot(key)
      return [slot === undefined ? key : (fill(slot) as string), filled(inner as Json, fill)]
    }),
  )
}

/** `$key:3` is the name of a property that is the third slot. */
export function keySlot(key: string): number | undefined {
  return key.startsWith('$key:') ? Number(key.slice(5)) : undefined
}

function group(making: Making, slots: readonly number[], depth: number): Shape {
  const { random } = making.world
  const [only] = slots
  if (slots.length === 1 && only !== undefined) return wrapped(making, leaf(making, only), depth)
  const cut = random.between(1, slots.length - 1)
  const parts = [slots.slice(0, cut), slots.slice(cut)].map((some) =>
    group(making, some, Math.max(0, depth - 1)),
  )
  return random.pick([inObject, inTuple, inMixedList])(making, parts)
}

function leaf({ world, slots }: Making, at: number): Shape {
  const { random } = world
  const slot = slots[at] as Slot
  const mark = slot.kind.entity.id()
  const isNumber = typeof slot.given === 'number'
  if (!isNumber && slot.kind.style !== 'small' && !/label|place/.test(slot.way) && random.chance(0.1))
    return {
      schema: {
        type: 'object',
        propertyNames: { type: 'string', ...mark },
        additionalProperties: { type: 'number' },
      },
      value: { [`$key:${at}`]: 1 },
    }
  const plain: JsonObject = { type: isNumber ? 'integer' : 'string', ...mark }
  const schema = random.pick<JsonObject>([
    plain,
    plain,
    { ...mark },
    { anyOf: [plain, { type: 'null' }] },
    { oneOf: [{ type: 'null' }, { anyOf: [plain] }] },
    { anyOf: [{ const: 'all' }, plain] },
    { allOf: [{ type: plain['type'] as string }, { ...mark }] },
    { type: plain['type'], description: 'An id', examples: ['x'], ...mark },
  ])
  return { schema, value: { $slot: at } }
}

function wrapped(making: Making, shape: Shape, depth: number): Shape {
  const { random } = making.world
  let inner = shape
  for (let left = depth; left > 0; left--) inner = random.pick(WRAPPERS)(making, inner)
  return inner
}

type Wrapper = (making: Making, inner: Shape) => Shape

const WRAPPERS: readonly Wrapper[] = [
  (making, inner) => inObject(making, [inner]),
  (_, { schema, value }) => ({ schema: { type: 'array', items: schema }, value: [value] }),
  (_, { schema, value }) => ({
    schema: { type: 'array', prefixItems: [{ type: 'number' }, schema], items: { type: 'string' } },
    value: [7, value, 'plain'],
  }),
  (_, { schema, value }) => ({
    schema: { type: 'array', items: [{ type: 'number' }], additionalItems: schema },
    value: [7, value],
  }),
  ({ world }, { schema, value }) => ({
    schema: { type: 'object', additionalProperties: schema },
    value: { [world.random.word()]: value },
  }),
  ({ world }, { schema, value }) => ({
    schema: {
      type: 'object',
      patternProperties: { '^k_': schema },
      additionalProperties: { type: 'string' },
    },
    value: { [`k_${world.random.word()}`]: value, other: 'plain' },
  }),
  ({ defs }, { schema, value }) => {
    const name = `def${Object.keys(defs).length}`
    defs[name] = schema
    return { schema: { $ref: `#/$defs/${name}` }, value }
  },
  tree,
  alternatives,
]

/** A schema that refers to itself. */
function tree({ defs }: Making, { schema, value }: Shape): Shape {
  const name = `tree${Object.keys(defs).length}`
  const self = { $ref: `#/$defs/${name}` }
  defs[name] = {
    type: 'object',
    properties: {
      node: schema,
      children: { type: 'array', items: self },
      next: { anyOf: [self, { type: 'null' }] },
    },
  }
  return { schema: self, value: { children: [{ children: [], next: { node: value, next: null } }] } }
}

/** A discriminator decides the entity of the id. */
function alternatives({ world }: Making, { schema, value }: Shape): Shape {
  const [first] = world.random.shuffle(world.kinds)
  const other: JsonObject = { ...first?.entity.id() }
  const branches: JsonObject[] = [
    {
      type: 'object',
      properties: { as: { const: 'this' }, target: schema },
      required: ['as', 'target'],
    },
    { type: 'object', properties: { as: { const: 'that' }, target: other }, required: ['as', 'target'] },
  ]
  return { schema: { oneOf: world.random.shuffle(branches) }, value: { as: 'this', target: value } }
}

function inObject({ world }: Making, parts: readonly Shape[]): Shape {
  const { random } = world
  const names = parts.map(() => random.word())
  return {
    schema: {
      type: 'object',
      properties: {
        note: { type: 'string' },
        ...Object.fromEntries(parts.map(({ schema }, at) => [names[at], schema])),
        absent: { ...random.pick(world.kinds).entity.id() },
      },
    },
    // An id at an unmarked path is ignored.
    value: {
      note: random.pick(random.pick(world.kinds).foreign).id,
      ...Object.fromEntries(parts.map(({ value }, at) => [names[at], value])),
    },
  }
}

function inTuple(_: Making, parts: readonly Shape[]): Shape {
  return {
    schema: { type: 'array', prefixItems: parts.map(({ schema }) => schema) },
    value: parts.map(({ value }) => value),
  }
}

function inMixedList(making: Making, parts: readonly Shape[]): Shape {
  const tagged = parts.map(({ schema, value }, at) => ({
    schema: { type: 'object', properties: { tag: { const: `t${at}` }, of: schema }, required: ['tag'] },
    value: { tag: `t${at}`, of: value },
  }))
  return {
    schema: {
      type: 'array',
      items: { oneOf: making.world.random.shuffle(tagged.map(({ schema }) => schema)) },
    },
    value: tagged.map(({ value }) => value),
  }
}
