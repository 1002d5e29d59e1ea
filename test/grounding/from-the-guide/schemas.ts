/** "What the tool gets is judged" and "What has no mark is not forgotten". */
import { z } from 'zod'
import { entity } from '../../../src/entry/grounding.ts'
import { type JsonObject, jsonSchema } from '../../../src/index.ts'
import { show } from './conversation.ts'
import { type Generator, Trial, type Wanted } from './trial.ts'
import { nounOf, oneKind } from './words.ts'

interface Conversion {
  readonly name: string
  readonly schema: (mark: z.ZodType<string>, ids: Ids) => z.ZodType
  readonly written: (ids: Ids) => unknown
  readonly made: (ids: Ids) => unknown
  readonly wanted: Wanted
}

/** Two known ids and an unknown one. */
interface Ids {
  readonly good: string
  readonly other: string
  readonly bad: string
}

const same = ({ good }: Ids): string => good

const CONVERSIONS: readonly Conversion[] = [
  {
    name: 'trim',
    schema: (m) => m.transform((id) => id.trim()),
    written: ({ good }) => ` ${good} `,
    made: same,
    wanted: 'run',
  },
  {
    name: 'preprocess trims',
    schema: (m) => z.preprocess((id) => (typeof id === 'string' ? id.trim() : id), m),
    written: ({ good }) => `${good}  `,
    made: same,
    wanted: 'run',
  },
  {
    name: 'other case',
    schema: (m) => m.transform((id) => id.toLowerCase()),
    written: same,
    made: ({ good }) => good.toLowerCase(),
    wanted: 'run',
  },
  {
    name: 'signs go',
    schema: (m) => m.transform((id) => id.replaceAll(/[-_.#]/g, '')),
    written: same,
    made: ({ good }) => good.replaceAll(/[-_.#]/g, ''),
    wanted: 'run',
  },
  {
    name: 'another good id',
    schema: (m, { other }) => m.transform(() => other),
    written: same,
    made: ({ other }) => other,
    wanted: 'run',
  },
  {
    name: 'an invented id',
    schema: (m, { bad }) => m.transform(() => bad),
    written: same,
    made: ({ bad }) => bad,
    wanted: 'refuse',
  },
  {
    name: 'an address before it',
    schema: (m) => m.transform((id) => `https://host/api/${id}`),
    written: same,
    made: same,
    wanted: 'refuse',
  },
  {
    name: 'bad becomes good',
    schema: (m, { good }) => m.transform(() => good),
    written: ({ bad }) => bad,
    made: same,
    wanted: 'run',
  },
  {
    name: 'completed',
    schema: (m, { good }) => m.transform((id) => (good.endsWith(id) ? good : id)),
    written: ({ good }) => good.slice(2),
    made: same,
    wanted: 'run',
  },
  {
    name: 'good default',
    schema: (m, { good }) => m.default(good),
    written: () => undefined,
    made: same,
    wanted: 'run',
  },
  {
    name: 'bad default',
    schema: (m, { bad }) => m.default(bad),
    written: () => undefined,
    made: same,
    wanted: 'refuse',
  },
  {
    name: 'bad prefault',
    schema: (m, { bad }) => m.prefault(bad),
    written: () => undefined,
    made: same,
    wanted: 'refuse',
  },
  {
    name: 'bad catch',
    schema: (m, { bad }) => m.catch(bad),
    written: () => 42.5,
    made: same,
    wanted: 'refuse',
  },
  {
    name: 'split, good',
    schema: (m) => z.preprocess((v) => String(v).split(','), z.array(m)),
    written: ({ good, other }) => `${good},${other}`,
    made: ({ good, other }) => [good, other],
    wanted: 'run',
  },
  {
    name: 'split, one bad',
    schema: (m) => z.preprocess((v) => String(v).split(','), z.array(m)),
    written: ({ good, bad }) => `${good},${bad}`,
    made: same,
    wanted: 'refuse',
  },
  {
    name: 'a list becomes a set',
    schema: (m) => z.array(m).transform((ids) => new Set(ids)),
    written: ({ good, other }) => [good, other],
    made: ({ good, other }) => [good, other],
    wanted: 'run',
  },
  {
    name: 'a set with a bad one',
    schema: (m, { bad }) => z.array(m).transform((ids) => new Set([...ids, bad])),
    written: ({ good }) => [good],
    made: same,
    wanted: 'refuse',
  },
  {
    name: 'part of an object, bad',
    schema: (m, { bad }) => m.transform(() => ({ key: bad })),
    written: same,
    made: same,
    wanted: 'refuse',
  },
  {
    name: 'part of an object, good',
    schema: (m) => m.transform((id) => ({ key: id })),
    written: same,
    made: ({ good }) => ({ key: good }),
    wanted: 'run',
  },
  {
    name: 'the whole object, bad',
    schema: (m) => m,
    written: ({ bad }) => bad,
    made: same,
    wanted: 'refuse',
  },
  {
    name: 'pipe, good',
    schema: (m) => m.transform((id) => id.trim()).pipe(z.string().min(2)),
    written: ({ good }) => `${good} `,
    made: same,
    wanted: 'run',
  },
]

/** A schema may convert the written value; each resulting id must be good. */
const conversion: Generator = async (dice) => {
  const kind = oneKind(dice)
  const ids: Ids = { good: kind.fresh(), other: kind.fresh(), bad: kind.fresh() }
  const { name, schema, written, made, wanted } = dice.pick(CONVERSIONS)
  const mark = z.string().meta(kind.entity.id()) as z.ZodType<string>
  const trial = new Trial(dice, { entities: [kind.entity], input: z.object({ id: schema(mark, ids) }) })
  await trial.talk.turn('List.', [show({ [kind.name]: [{ id: ids.good }, { id: ids.other }] })])
  await trial.noise(1)
  const value = written(ids)
  const end = await trial.act('Go on.', (value === undefined ? {} : { id: value }) as JsonObject)
  return trial.check(end, { way: `conversion: ${name}`, wanted, input: { id: made(ids) } })
}

/** A conversion of the whole object: the value at the marked path afterwards is judged. */
const wholeObject: Generator = async (dice) => {
  const kind = oneKind(dice)
  const good = kind.fresh()
  const made = dice.chance(0.5) ? kind.fresh() : good
  const before = dice.chance(0.5)
  const inner = z.object({ id: z.string().meta(kind.entity.id()) })
  const input = before ? z.preprocess(() => ({ id: made }), inner) : inner.transform(() => ({ id: made }))
  const trial = new Trial(dice, { entities: [kind.entity], input })
  await trial.talk.turn('List.', [show({ [kind.name]: [{ id: good }] })])
  const end = await trial.act('Go on.', { id: good })
  const way = `conversion of the whole object, ${made === good ? 'good' : 'invented'}`
  return trial.check(end, { way, wanted: made === good ? 'run' : 'refuse', input: { id: made } })
}

/** `ord_2` of `2`: good if it is also the written position; else `several`. */
const placeOrPrefix: Generator = async (dice) => {
  const kind = entity(nounOf(dice).en, { pattern: /ord_\d+/ })
  const place = dice.between(1, 3)
  const at = dice.between(1, 3)
  const ids = [71, 82, 93].map((number, index) => `ord_${index + 1 === at ? place : number}`)
  const prefix = z
    .string()
    .meta(kind.id())
    .transform((id) => (id.startsWith('ord_') ? id : `ord_${id}`))
  const trial = new Trial(dice, { entities: [kind], input: z.object({ id: prefix }) })
  await trial.talk.turn('List.', [show({ [kind.name]: ids.map((id) => ({ id })) })])
  const end = await trial.act('Go on.', { id: String(place) })
  const one = at === place
  return trial.check(end, {
    way: `conversion puts a prefix before a place, ${one ? 'the same' : 'another'} thing`,
    wanted: one ? 'run' : 'refuse',
    input: { id: `ord_${place}` },
    ...(one ? {} : { reason: 'several' }),
  })
}

interface Extra {
  readonly name: string
  readonly schema: z.ZodType
  readonly value: (id: string) => unknown
  readonly wanted: { readonly known: Wanted; readonly invented: Wanted }
}

const JUDGED = { known: 'run', invented: 'refuse' } as const
const NOT_JUDGED = { known: 'run', invented: 'run' } as const

const EXTRAS: readonly Extra[] = [
  { name: 'a text', schema: z.string(), value: (id) => id, wanted: JUDGED },
  { name: 'a text in a list', schema: z.array(z.string()), value: (id) => ['note', id], wanted: JUDGED },
  {
    name: 'a text in an object',
    schema: z.object({ a: z.object({ b: z.string() }) }),
    value: (id) => ({ a: { b: id } }),
    wanted: JUDGED,
  },
  { name: 'a record', schema: z.record(z.string(), z.string()), value: (id) => ({ x: id }), wanted: JUDGED },
  {
    name: 'a name in a record',
    schema: z.record(z.string(), z.unknown()),
    value: (id) => ({ [id]: 'x' }),
    wanted: JUDGED,
  },
  { name: 'anything', schema: z.unknown(), value: (id) => ({ deep: [id] }), wanted: JUDGED },
  { name: 'a longer text', schema: z.string(), value: (id) => `All about ${id} here`, wanted: NOT_JUDGED },
]

/** An unmarked text that fits an entity's pattern as a whole is judged like an id. */
const unmarked: Generator = async (dice) => {
  const kind = oneKind(dice)
  const { name, schema, value, wanted } = dice.pick(EXTRAS)
  const allow = dice.chance(0.25)
  const input = z.object({ id: z.string().meta(kind.entity.id()), extra: schema })
  const act = allow ? { unmarkedIds: 'allow' as const } : {}
  const trial = new Trial(dice, { entities: [kind.entity], input, act })
  const [good, other] = [kind.fresh(), kind.fresh()]
  await trial.talk.turn('List.', [show({ [kind.name]: [{ id: good }, { id: other }] })])
  const known = dice.chance(0.5)
  const args = { id: good, extra: value(known ? other : kind.fresh()) } as JsonObject
  const end = await trial.act('Go on.', args)
  const truth = allow ? 'run' : wanted[known ? 'known' : 'invented']
  return trial.check(end, {
    way: `no mark: ${name}, ${known ? 'known' : 'invented'}${allow ? ', allowed' : ''}`,
    wanted: truth,
    input: args,
  })
}

/** Numbers, texts of one to four digits, words, and values that the schema lists are not judged. */
const notJudged: Generator = async (dice) => {
  const kind = entity('item', { pattern: /\d+|[a-z]+|x-\d+/ })
  const input = z.object({
    id: z.string().meta(kind.id()),
    count: z.number(),
    short: z.string(),
    word: z.string(),
    listed: z.enum(['x-1', 'x-2']),
    constant: z.literal('x-3'),
  })
  const trial = new Trial(dice, { entities: [kind], input })
  await trial.talk.turn('List.', [show({ item: [{ id: 'x-77' }] })])
  const args = {
    id: 'x-77',
    count: dice.int(1_000_000),
    short: dice.text('123456789', dice.between(1, 4)),
    word: dice.pick(['urgent', 'later', 'blue']),
    listed: dice.pick(['x-1', 'x-2']),
    constant: 'x-3',
  }
  return trial.check(await trial.act('Go on.', args), {
    way: 'no mark: what is not judged',
    wanted: 'run',
    input: args,
  })
}

/** Undeclared fields do not reach the tool. */
const undeclared: Generator = async (dice) => {
  const kind = oneKind(dice)
  const mark = kind.entity.id()
  const shape = dice.pick(['closed', 'loose', 'json', 'additional', 'pattern', 'allow'] as const)
  const base = { id: z.string().meta(mark) }
  const json = (more: JsonObject): unknown =>
    jsonSchema({ type: 'object', properties: { id: { type: 'string', ...mark } }, ...more })
  const input = {
    closed: z.object(base),
    loose: z.looseObject(base),
    json: json({}),
    additional: json({ additionalProperties: { type: 'string' } }),
    pattern: json({ patternProperties: { '^note': { type: 'string' } } }),
    allow: json({}),
  }[shape]
  const act = shape === 'allow' ? { unmarkedIds: 'allow' as const } : {}
  const trial = new Trial(dice, { entities: [kind.entity], input, act })
  const [good, bad] = [kind.fresh(), kind.fresh()]
  await trial.talk.turn('List.', [show({ [kind.name]: [{ id: good }] })])
  const extra = dice.chance(0.5) ? bad : 'some text'
  const end = await trial.act('Go on.', { id: good, noted: extra })
  const kept = shape === 'additional' || shape === 'pattern' || shape === 'allow'
  const judged = kept && shape !== 'allow' && extra === bad
  return trial.check(end, {
    way: `not declared: ${shape}, ${extra === bad ? 'an invented id' : 'a text'}`,
    wanted: judged ? 'refuse' : 'run',
    input: kept ? { id: good, noted: extra } : { id: good },
  })
}

export const SCHEMAS: readonly Generator[] = [
  conversion,
  conversion,
  wholeObject,
  placeOrPrefix,
  unmarked,
  notJudged,
  undeclared,
]
