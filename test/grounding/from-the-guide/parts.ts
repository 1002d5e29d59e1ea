/** "Parts": an entity with a parent is judged together with it. */
import { z } from 'zod'
import { choose, type Row, show } from './conversation.ts'
import type { Dice } from './dice.ts'
import { type Generator, oneId, Trial, type Wanted } from './trial.ts'
import { type Kind, kinds, type Language, namesOf, placeOf } from './words.ts'

/** A whole, its part, and perhaps an ancestor. */
function family(dice: Dice): [Kind, Kind, Kind] {
  return kinds(
    dice,
    () => ({}),
    ([top]) => ({ parent: (top as Kind).entity }),
    ([, whole]) => ({ parent: (whole as Kind).entity }),
  ) as [Kind, Kind, Kind]
}

interface House {
  readonly wholes: readonly Row[]
  readonly parts: readonly Row[]
}

/** Two wholes with two parts each; labels are unique. */
function house(dice: Dice, whole: Kind, part: Kind): House {
  const names = namesOf(dice, 6)
  const wholes = [0, 1].map((at) => ({ id: whole.fresh(), name: names[at] as string }))
  const parts = [0, 0, 1, 1].map((of, at) => ({
    id: part.fresh(),
    name: names[at + 2] as string,
    of: wholes[of]?.id as string,
  }))
  return { wholes, parts }
}

/** In one call, a part must belong to the thing beside it, in the same object or in the nearest around or inside. */
const beside: Generator = async (dice) => {
  const [, whole, part] = family(dice)
  const { wholes, parts } = house(dice, whole, part)
  const shape = dice.pick(['same object', 'around', 'inside', 'list of wholes', 'destination'] as const)
  const mark = z.string().meta(whole.entity.id())
  const child = z.string().meta(part.entity.id())
  const schema = {
    'same object': z.object({ whole: mark, part: child }),
    around: z.object({ whole: mark, items: z.array(z.object({ part: child })) }),
    inside: z.object({ part: child, where: z.object({ whole: mark }) }),
    'list of wholes': z.object({ wholes: z.array(mark), part: child }),
    destination: z.object({ part: child, to: z.string().meta(whole.entity.destination.id()) }),
  }[shape]
  const right = dice.chance(0.5)
  const one = dice.pick(parts)
  const own = String(one.of)
  const other = String(wholes.find(({ id }) => id !== own)?.id)
  const given = right ? own : other
  const id = String(one.id)
  const input = {
    'same object': { whole: given, part: id },
    around: { whole: given, items: [{ part: id }] },
    inside: { part: id, where: { whole: given } },
    'list of wholes': { wholes: right ? dice.shuffle([own, other]) : [other], part: id },
    destination: { part: id, to: given },
  }[shape]
  const entities = [whole.entity, part.entity]
  // The ancestor entity is not declared here.
  const trial = new Trial(dice, { entities, input: schema })
  await trial.talk.turn('List.', [show({ [whole.name]: wholes, [part.name]: parts })])
  await trial.noise()
  const end = await trial.act(dice.chance(0.3) ? `Take ${id} please.` : 'Go on.', input)
  const wanted: Wanted = right || shape === 'destination' ? 'run' : 'refuse'
  return trial.check(end, {
    way: `part beside ${right ? 'its' : 'another'} whole: ${shape}`,
    wanted,
    input,
    ...(wanted === 'refuse' ? { reason: 'wrong-parent' } : {}),
  })
}

const SINCE = {
  nothing: 'refuse',
  'id said earlier': 'run',
  'id said now': 'run',
  'shown earlier': 'run',
  'shown now': 'run',
  'its whole named now': 'run',
  'id of its whole said now': 'run',
  'its whole named earlier': 'refuse',
  'named now': 'run',
  'named now, no parts of the chosen shown': 'refuse',
  'named earlier': 'refuse',
  'place said now': 'refuse',
  'a part of the chosen': 'run',
} as const satisfies Record<string, Wanted>

/** With nothing beside it, a part of another thing than the active one is refused unless it is mentioned. */
const ofChosen: Generator = async (dice) => {
  const [, whole, part] = family(dice)
  const { wholes, parts } = house(dice, whole, part)
  const language: Language = dice.pick(['en', 'fr'])
  const trial = new Trial(dice, {
    entities: [whole.entity, part.entity],
    input: oneId(part),
    grounding: { language },
  })
  const since = dice.pick(Object.keys(SINCE) as (keyof typeof SINCE)[])
  const chosen = dice.pick(wholes)
  const other = wholes.find(({ id }) => id !== chosen.id) as Row
  const known = since.includes('no parts') ? parts.filter(({ of }) => of === other.id) : parts
  await trial.talk.turn('List.', [show({ [whole.name]: wholes, [part.name]: known })])
  const by = dice.pick(['program', 'person', 'tool'] as const)
  const label = chosen.name as string
  if (by === 'program') await trial.talk.select(whole.entity.select(String(chosen.id), { label }))
  else
    await trial.talk.turn('That.', [
      choose(whole.name, String(chosen.id), { label, ...(by === 'person' ? { by } : {}) }),
    ])
  await trial.noise(1)
  const mine = since === 'a part of the chosen'
  const target = dice.pick(parts.filter(({ of }) => of === (mine ? chosen : other).id))
  const words = wordsFor(since, {
    target,
    other,
    place: placeOf(dice, known.indexOf(target), { noun: part.noun, named: true, language }),
  })
  if (since.endsWith('earlier') && since !== 'shown earlier')
    await trial.talk.smallTalk(`Now ${words} please.`)
  if (since === 'shown earlier') await trial.talk.turn('Look.', [show({ [part.name]: [target] })])
  const before = since === 'shown now' ? [show({ [part.name]: [target] })] : []
  const now = / now/.test(since) && since !== 'shown now'
  const id = String(target.id)
  const end = await trial.act(now ? `Now ${words} please.` : 'Go on.', { id }, { before })
  const wanted = SINCE[since]
  return trial.check(end, {
    way: `whole chosen by ${by}, part: ${since}`,
    wanted,
    input: { id },
    ...(wanted === 'refuse' ? { reason: 'wrong-parent' } : {}),
  })
}

function wordsFor(
  since: string,
  { target, other, place }: { target: Row; other: Row; place: string },
): string {
  if (since.startsWith('id of its whole')) return String(other.id)
  if (since.startsWith('its whole')) return other.name ?? ''
  if (since.startsWith('id')) return String(target.id)
  return since.startsWith('place') ? place : (target.name ?? '')
}

/** A label that several parts have means the part of the thing beside it, or of the active one; else it is asked about. */
const sharedLabel: Generator = async (dice) => {
  const [, whole, part] = family(dice)
  const { wholes, parts } = house(dice, whole, part)
  const name = parts[0]?.name as string
  const twins = [parts[0], parts[2]].map((row) => ({ ...(row as Row), name }))
  const way = dice.pick(['beside', 'chosen', 'neither'] as const)
  const child = z.string().meta(part.entity.id())
  const input = z.object({ part: child, whole: z.string().meta(whole.entity.id()).optional() })
  const trial = new Trial(dice, { entities: [whole.entity, part.entity], input })
  await trial.talk.turn('List.', [show({ [whole.name]: wholes, [part.name]: [...twins, parts[1] as Row] })])
  const target = dice.pick(twins)
  const of = String(target.of)
  if (way === 'chosen') await trial.talk.select(whole.entity.select(of))
  await trial.noise(1)
  const besides = way === 'beside' ? { whole: of } : {}
  const end = await trial.act('Go on.', { part: name, ...besides })
  const truth = { way: `label of two parts, ${way}`, input: { part: target.id, ...besides } }
  return trial.check(end, { ...truth, wanted: way === 'neither' ? 'ask' : 'run', answer: String(target.id) })
}

/** Without either for the parent, the ancestor above counts. */
const above: Generator = async (dice) => {
  const [top, whole, part] = family(dice)
  const { wholes, parts } = house(dice, whole, part)
  const tops = top.rows(2)
  const placed = wholes.map((row, at) => ({ ...row, of: String(tops[at]?.id) }))
  const right = dice.chance(0.5)
  const isBeside = dice.chance(0.5)
  const child = z.string().meta(part.entity.id())
  const input = isBeside
    ? z.object({ id: child, top: z.string().meta(top.entity.id()) })
    : z.object({ id: child })
  const trial = new Trial(dice, { entities: [top.entity, whole.entity, part.entity], input })
  await trial.talk.turn('List.', [show({ [top.name]: tops, [whole.name]: placed, [part.name]: parts })])
  const target = dice.pick(parts)
  const ownTop = String(placed.find(({ id }) => id === target.of)?.of)
  const given = right ? ownTop : String(tops.find(({ id }) => id !== ownTop)?.id)
  if (!isBeside) await trial.talk.select(top.entity.select(given))
  await trial.noise(1)
  const args = { id: String(target.id), ...(isBeside ? { top: given } : {}) }
  const end = await trial.act('Go on.', args)
  return trial.check(end, {
    way: `two steps above, ${isBeside ? 'beside' : 'chosen'}, ${right ? 'right' : 'wrong'}`,
    wanted: right ? 'run' : 'refuse',
    input: args,
    ...(right ? {} : { reason: 'wrong-parent' }),
  })
}

/** Where sightings lack the parent, nothing is compared. */
const noParent: Generator = async (dice) => {
  const [, whole, part] = family(dice)
  const wholes = whole.rows(2)
  const id = part.fresh()
  const trial = new Trial(dice, { entities: [whole.entity, part.entity], input: oneId(part) })
  await trial.talk.turn('List.', [show({ [whole.name]: wholes, [part.name]: [{ id }] })])
  await trial.talk.select(whole.entity.select(String(wholes[0]?.id)))
  const end = await trial.act('Go on.', { id })
  return trial.check(end, { way: 'a part whose whole is not known', wanted: 'run', input: { id } })
}

/** Another parent deselects its parts. */
const letsGo: Generator = async (dice) => {
  const [, whole, part] = family(dice)
  const { wholes, parts } = house(dice, whole, part)
  const trial = new Trial(dice, { entities: [whole.entity, part.entity], input: oneId(part) })
  await trial.talk.turn('List.', [show({ [whole.name]: wholes, [part.name]: parts })])
  await trial.talk.select(whole.entity.select(String(wholes[0]?.id)))
  await trial.talk.select(part.entity.select(String(parts[0]?.id), { parent: String(wholes[0]?.id) }))
  await trial.talk.select(whole.entity.select(String(wholes[1]?.id)))
  await trial.noise(1)
  const old = dice.chance(0.5)
  const id = String((old ? parts[0] : parts[2])?.id)
  const end = await trial.act('Go on.', { id })
  return trial.check(end, {
    way: `another whole is chosen, ${old ? 'the old part' : 'a new part'}`,
    wanted: old ? 'refuse' : 'run',
    input: { id },
  })
}

export const PARTS: readonly Generator[] = [
  beside,
  ofChosen,
  ofChosen,
  ofChosen,
  sharedLabel,
  above,
  noParent,
  letsGo,
]
