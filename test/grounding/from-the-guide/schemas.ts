/** "What the tool gets is judged", "What has no mark is not forgotten", marks, and ids of several arguments. */
import { z } from 'zod'
import { type Entity, entity, grounded, type JsonObject, jsonSchema, type Tool } from '../../../src/index.ts'
import { type Row, show } from './talk.ts'
import { actTool, type Generator, Trial, type Wanted } from './trial.ts'
import { type Kind, kinds, nounOf, oneKind } from './words.ts'

interface Conversion {
  readonly name: string
  readonly schema: (mark: z.ZodType<string>, ids: Ids) => z.ZodType
  readonly written: (ids: Ids) => unknown
  readonly made: (ids: Ids) => unknown
  readonly wanted: Wanted
}

/** Two ids that are known and one that is not. */
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

/** A schema may convert what was written; each id that comes out has to be good. */
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

/** A conversion of the whole object: what stands at the marked place afterwards is judged. */
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

/** `ord_2` of `2`: good if it is the place that was written, too; else `several`. */
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

/** A text elsewhere that fits the pattern of an entity as a whole is judged like an id. */
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

/** Not judged are numbers, texts of one to four digits, words, and values that the schema lists. */
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

/** Fields that the schema does not declare do not reach the tool. */
const undeclared: Generator = async (dice) => {
  const kind = oneKind(dice)
  const mark = kind.entity.id()
  const shape = dice.pick(['closed', 'loose', 'json', 'additional', 'pattern', 'allow'] as const)
  const base = { id: z.string().meta(mark) }
  const json = (more: JsonObject): unknown =>
    jsonSchema({ type: 'object', properties: { id: { type: 'string', ...mark } }, ...more } as JsonObject)
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

/** A mark may be at any depth, in lists, in alternatives and as the name of a property; and of several kinds. */
const anywhere: Generator = async (dice) => {
  const [kind, other] = kinds(
    dice,
    () => ({}),
    () => ({}),
  ) as [Kind, Kind]
  const mark = z.string().meta(kind.entity.id())
  const both = z.string().meta({ 'x-entity': [kind.name, other.name] })
  const shapes: Record<string, [z.ZodType, (id: string) => unknown]> = {
    deep: [z.object({ a: z.object({ b: z.object({ c: mark }) }) }), (id) => ({ a: { b: { c: id } } })],
    list: [z.array(mark), (id) => [id]],
    'list of objects': [z.array(z.object({ c: mark })), (id) => [{ c: id }]],
    alternative: [z.union([z.number(), mark]), (id) => id],
    'alternative objects': [
      z.union([z.object({ c: mark }), z.object({ d: z.boolean() })]),
      (id) => ({ c: id }),
    ],
    name: [z.record(mark, z.number()), (id) => ({ [id]: 1 })],
    nullable: [mark.nullable(), (id) => id],
    optional: [mark.optional(), (id) => id],
    tuple: [z.tuple([z.number(), mark]), (id) => [1, id]],
    'two kinds': [both, (id) => id],
    'mark of the grounded tool': [z.string(), (id) => id],
  }
  const shape = dice.pick(Object.keys(shapes))
  const [schema, make] = shapes[shape] as [z.ZodType, (id: string) => unknown]
  const got: unknown[] = []
  const plain = actTool(got, z.object({ id: schema }))
  const tool: Tool = shape.startsWith('mark') ? grounded(plain, { input: { id: kind.entity } }) : plain
  const trial = new Trial(dice, {
    entities: [kind.entity, other.entity],
    input: z.object({}),
    act: {},
    tools: [renamed(tool)],
  })
  const rows = kind.rows(2)
  const others = other.rows(2)
  await trial.talk.turn('List.', [show({ [kind.name]: rows, [other.name]: others })])
  const which = dice.pick(['known', 'invented', 'of another kind'] as const)
  const id = { known: rows[0]?.id, invented: kind.fresh(), 'of another kind': others[1]?.id }[which]
  const args = { id: make(String(id)) } as JsonObject
  const end = await trial.talk.turn('Go on.', [{ tool: 'act_too', args }])
  trial.got.push(...got)
  const good = which === 'known' || (which === 'of another kind' && shape === 'two kinds')
  return trial.check(end, {
    way: `mark: ${shape}, ${which}`,
    wanted: good ? 'run' : 'refuse',
    input: args,
    ...(which === 'of another kind' && !good ? { reason: 'wrong-kind' } : {}),
  })
}

function renamed(tool: Tool): Tool {
  return { ...tool, name: 'act_too' }
}

/** A flight is known by its number and its date: all parts together have to be good. */
const keys: Generator = async (dice) => {
  const flight: Entity = entity('flight', {
    key: ['number', 'date'],
    pattern: /[A-Z]{3}\d{3}\|\d{4}-\d\d-\d\d/,
  })
  const part = (name: string): z.ZodType => z.string().meta(flight.part(name).id())
  const input = z.object({ number: part('number').optional(), date: part('date').optional() })
  const trial = new Trial(dice, { entities: [flight], input, tools: [flights(flight)] })
  const make = (): { number: string; date: string } => ({
    number: dice.text('ABCDEFGH', 3) + dice.text('123456789', 3),
    date: `2026-0${dice.between(1, 9)}-1${dice.int(10)}`,
  })
  const [one, two] = [make(), make()]
  const way = dice.pick(['seen', 'mixed', 'one part', 'said', 'said in two messages', 'invented'] as const)
  if (way === 'seen' || way === 'mixed' || way === 'one part')
    await trial.talk.turn('List.', [{ tool: 'flights', args: { rows: [one, two] } }])
  if (way === 'said in two messages') await trial.talk.smallTalk(`I fly with ${one.number}.`)
  if (way === 'said' && dice.chance(0.5))
    await trial.talk.smallTalk(`I fly with ${one.number} on ${one.date}.`)
  const message = {
    said: `Take ${one.number} on ${one.date}.`,
    'said in two messages': `On ${one.date} please.`,
  }
  const args = { mixed: { number: one.number, date: two.date }, 'one part': { number: one.number } }
  const given: JsonObject = args[way as 'mixed'] ?? one
  const end = await trial.act(message[way as 'said'] ?? 'Go on.', given)
  const good = way === 'seen' || way === 'said' || (way === 'mixed' && one.date === two.date)
  return trial.check(end, { way: `key: ${way}`, wanted: good ? 'run' : 'refuse', input: given })
}

function flights(flight: Entity): Tool {
  const rows = z.object({ rows: z.array(z.object({ number: z.string(), date: z.string() })) })
  const tool = actTool([], rows)
  return {
    ...grounded({ ...tool, name: 'flights', run: (input: unknown) => input } as Tool, {
      returns: { 'rows[]': { entity: flight, id: ['number', 'date'] } },
    }),
  }
}

/** A tool without any mark is not looked at. */
const noMark: Generator = async (dice) => {
  const kind = oneKind(dice)
  const trial = new Trial(dice, { entities: [kind.entity], input: z.looseObject({ id: z.string() }) })
  const input = { id: kind.fresh(), more: kind.fresh() }
  return trial.check(await trial.act('Go on.', input), { way: 'a tool without marks', wanted: 'run', input })
}

/** Several ids of a call: one bad one and the tool is not run. */
const severalIds: Generator = async (dice) => {
  const kind = oneKind(dice)
  const trial = new Trial(dice, {
    entities: [kind.entity],
    input: z.object({ ids: z.array(z.string().meta(kind.entity.id())) }),
  })
  const rows: Row[] = kind.rows(5)
  await trial.talk.turn('List.', [show({ [kind.name]: rows })])
  const ids = rows.slice(0, dice.between(1, 5)).map((row) => String(row.id))
  const good = dice.chance(0.5)
  if (!good) ids.splice(dice.int(ids.length + 1), 0, kind.fresh())
  const end = await trial.act('Go on.', { ids })
  return trial.check(end, {
    way: `several ids, ${good ? 'all good' : 'one bad'}`,
    wanted: good ? 'run' : 'refuse',
    input: { ids },
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
  anywhere,
  keys,
  noMark,
  severalIds,
]
