/** "Where ids go in and come out" and "Ids of several arguments": positions of marks, and composite keys. */
import { z } from 'zod'
import { type Entity, entity, grounded } from '../../../src/entry/grounding.ts'
import type { JsonObject, Tool } from '../../../src/index.ts'
import { type Row, show } from './conversation.ts'
import { actTool, type Generator, Trial } from './trial.ts'
import { type Kind, kinds, oneKind } from './words.ts'

/** A mark may be at any depth, in lists, in alternatives and as the name of a property; and of several entities. */
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

/** A flight is known by its number and its date: all parts together must be good. */
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
    ...grounded(
      { ...tool, name: 'flights', run: (input: unknown) => input },
      {
        returns: { 'rows[]': { entity: flight, id: ['number', 'date'] } },
      },
    ),
  }
}

/** A tool without any mark is not judged. */
const noMark: Generator = async (dice) => {
  const kind = oneKind(dice)
  const trial = new Trial(dice, { entities: [kind.entity], input: z.looseObject({ id: z.string() }) })
  const input = { id: kind.fresh(), more: kind.fresh() }
  return trial.check(await trial.act('Go on.', input), { way: 'a tool without marks', wanted: 'run', input })
}

/** Several ids of a call: one bad one stops the tool. */
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

export const MARKS: readonly Generator[] = [anywhere, keys, noMark, severalIds]
