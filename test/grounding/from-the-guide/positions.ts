/** "Places" and "What is chosen wins". */

import { z } from 'zod'
import { entity } from '../../../src/entry/grounding.ts'
import { type Call, choose, type Row, show } from './conversation.ts'
import type { Dice } from './dice.ts'
import { type Generator, oneId, Trial, type Wanted } from './trial.ts'
import { type Kind, kinds, type Language, nounOf, oneKind, placeOf } from './words.ts'

const twoKinds = (dice: Dice): [Kind, Kind] =>
  kinds(
    dice,
    () => ({}),
    () => ({}),
  ) as [Kind, Kind]

/** A position with its noun refers to the newest list of that entity, whatever else was shown since. */
const namedPlace: Generator = async (dice) => {
  const [kind, other] = twoKinds(dice)
  const language: Language = dice.pick(['en', 'fr'])
  const entities = [kind.entity, other.entity]
  const trial = new Trial(dice, { entities, input: oneId(kind), grounding: { language } })
  let newest: Row[] = []
  for (let left = dice.between(1, 3); left > 0; left--) {
    newest = kind.rows(dice.between(2, 5))
    await trial.talk.turn('List.', [show({ [kind.name]: newest })])
    await trial.noise(1)
    if (dice.chance(0.4))
      await trial.talk.turn('List those.', [show({ [other.name]: other.rows(dice.between(2, 5)) })])
    if (dice.chance(0.4)) await trial.talk.turn('More of it.', [show({ [kind.name]: [dice.pick(newest)] })])
  }
  const at = dice.int(5)
  const written = placeOf(dice, at, { noun: kind.noun, named: true, language })
  const end = await trial.act('Go on.', { id: written })
  const row = newest[at]
  if (row === undefined)
    return trial.check(end, { way: `place with noun, too far, ${language}`, wanted: 'refuse' })
  return trial.check(end, { way: `place with noun, ${language}`, wanted: 'run', input: { id: row.id } })
}

/** A position without a noun refers to the newest list of any entity. */
const barePlace: Generator = async (dice) => {
  const [kind, other] = twoKinds(dice)
  const language: Language = dice.pick(['en', 'fr'])
  const trial = new Trial(dice, {
    entities: [kind.entity, other.entity],
    input: oneId(kind),
    grounding: { language },
  })
  const mine = kind.rows(3)
  const lists = [show({ [kind.name]: mine }), show({ [other.name]: other.rows(dice.between(2, 4)) })]
  const way = dice.pick([
    'own list newest',
    'other list newest',
    'the person says the noun',
    'no list',
  ] as const)
  if (way === 'no list') await trial.talk.turn('Look.', [show({ [kind.name]: mine.slice(0, 1) })])
  else
    for (const list of way === 'own list newest' ? lists.toReversed() : lists)
      await trial.talk.turn('List.', [list])
  await trial.noise(1)
  const at = way === 'no list' ? 0 : dice.int(2)
  const row = mine[at] as Row
  const message = `${placeOf(dice, at, { noun: kind.noun, named: true, language })}, please.`
  const said = way === 'the person says the noun'
  const written = said ? `${at + 1}` : placeOf(dice, at, { noun: kind.noun, named: false, language })
  const end = await trial.act(said ? message : 'Go on.', { id: written })
  const wanted = way === 'other list newest' ? 'refuse' : 'run'
  return trial.check(end, { way: `place without noun, ${way}, ${language}`, wanted, input: { id: row.id } })
}

/** A list of this turn does not replace the list that the person saw before it. */
const listInTurn: Generator = async (dice) => {
  const [kind, other] = twoKinds(dice)
  const trial = new Trial(dice, { entities: [kind.entity, other.entity], input: oneId(kind) })
  const mine = kind.rows(3)
  const theirs = show({ [other.name]: other.rows(3) })
  const mineNow = dice.chance(0.5)
  await trial.talk.turn('List.', [mineNow ? theirs : show({ [kind.name]: mine })])
  const at = dice.int(3)
  const before: Call[] = [mineNow ? show({ [kind.name]: mine }) : theirs]
  const written = placeOf(dice, at, { noun: kind.noun, named: false, language: 'en' })
  const end = await trial.act('Go on.', { id: written }, { before })
  const way = `place without noun, own list ${mineNow ? 'in' : 'before'} this turn`
  return trial.check(end, { way, wanted: 'run', input: { id: mine[at]?.id } })
}

/** An expired list has no positions. */
const oldList: Generator = async (dice) => {
  const kind = oneKind(dice, { ttl: '1h' })
  const trial = new Trial(dice, { entities: [kind.entity], input: oneId(kind) })
  await trial.talk.turn('List.', [show({ [kind.name]: kind.rows(3) })])
  trial.talk.pass(1.5)
  const named = dice.chance(0.5)
  const end = await trial.act('Go on.', {
    id: placeOf(dice, dice.int(3), { noun: kind.noun, named, language: 'en' }),
  })
  return trial.check(end, { way: 'place in a list that is too old', wanted: 'refuse' })
}

/** A number that is both an id and a position is asked about; if both are the same thing there is nothing to ask. */
const idAndPlace: Generator = async (dice) => {
  const kind = entity(nounOf(dice).en, { pattern: /\d{1,4}/ })
  const trial = new Trial(dice, { entities: [kind], input: z.object({ id: z.string().meta(kind.id()) }) })
  const place = dice.between(1, 3)
  const idAt = dice.between(1, 3)
  const ids = [51, 62, 73].map((id, at) => String(at + 1 === idAt ? place : id))
  await trial.talk.turn('List.', [show({ [kind.name]: ids.map((id) => ({ id })) })])
  await trial.noise(1)
  const end = await trial.act('Go on.', { id: String(place) })
  const same = place === idAt
  return trial.check(end, {
    way: same ? 'id and place are one thing' : 'id and place at once',
    wanted: same ? 'run' : 'ask',
    input: { id: same ? String(place) : ids[place - 1] },
    answer: same ? '' : (ids[place - 1] as string),
  })
}

interface Since {
  readonly name: string
  readonly wanted: Wanted
}

const SINCE: readonly Since[] = [
  { name: 'nothing', wanted: 'refuse' },
  { name: 'id said earlier', wanted: 'run' },
  { name: 'id said now', wanted: 'run' },
  { name: 'name said earlier', wanted: 'run' },
  { name: 'name said now', wanted: 'run' },
  { name: 'shown earlier', wanted: 'run' },
  { name: 'shown now', wanted: 'run' },
  { name: 'place said earlier', wanted: 'refuse' },
  { name: 'place said now', wanted: 'run' },
  { name: 'let go of', wanted: 'run' },
  { name: 'the chosen one', wanted: 'run' },
  { name: 'an invented one', wanted: 'refuse' },
]

/** A selection of a person or a program wins; a tool's selection never makes other ids bad. */
const chosenWins: Generator = async (dice) => {
  const kind = oneKind(dice)
  const language: Language = dice.pick(['en', 'fr'])
  const trial = new Trial(dice, { entities: [kind.entity], input: oneId(kind), grounding: { language } })
  const rows = kind.rows(4)
  await trial.talk.turn('List.', [show({ [kind.name]: rows })])
  const [chosen, other] = dice.shuffle(rows) as [Row, Row]
  const by = dice.pick(['program', 'person', 'tool', 'person, then tool'] as const)
  const id = String(chosen.id)
  if (dice.chance(0.3)) await trial.talk.smallTalk(`There is also ${other.id} and ${other.name}.`)
  if (by === 'program') await trial.talk.select(kind.entity.select(id))
  else if (by === 'tool') await trial.talk.turn('Details.', [choose(kind.name, id)])
  else await trial.talk.turn('That one.', [choose(kind.name, id, { by: 'person' })])
  if (by === 'person, then tool') await trial.talk.turn('Details.', [choose(kind.name, id)])
  await trial.noise(1)
  const since = dice.pick(SINCE)
  const place = placeOf(dice, rows.indexOf(other), { noun: kind.noun, named: dice.chance(0.5), language })
  const words = since.name.startsWith('id') ? other.id : since.name.startsWith('name') ? other.name : place
  if (since.name.endsWith('said earlier')) await trial.talk.smallTalk(`Now ${words} please.`)
  if (since.name === 'shown earlier') await trial.talk.turn('Look.', [show({ [kind.name]: [other] })])
  if (since.name === 'let go of') await trial.talk.select(kind.entity.select())
  else if (dice.chance(0.3)) await trial.act('Use it.', { id })
  const before = since.name === 'shown now' ? [show({ [kind.name]: [other] })] : []
  const written =
    since.name === 'the chosen one' ? id : since.name === 'an invented one' ? kind.fresh() : String(other.id)
  const message = since.name.endsWith('said now') ? `Now ${words} please.` : 'Go on.'
  const end = await trial.act(message, { id: written }, { before })
  const wanted = by === 'tool' && since.name !== 'an invented one' ? 'run' : since.wanted
  const refused = wanted === 'refuse' && since.name !== 'an invented one'
  return trial.check(end, {
    way: `chosen by ${by}, ${since.name}`,
    wanted,
    input: { id: written },
    ...(refused ? { reason: 'not-active', meant: id } : {}),
  })
}

/** All of several selected things are good, and so is one that nothing showed. */
const severalChosen: Generator = async (dice) => {
  const kind = oneKind(dice)
  const trial = new Trial(dice, { entities: [kind.entity], input: oneId(kind) })
  const rows = kind.rows(4)
  if (dice.chance(0.5)) await trial.talk.turn('List.', [show({ [kind.name]: rows })])
  const chosen = rows.slice(0, dice.between(1, 3)).map((row) => String(row.id))
  await trial.talk.select(kind.entity.select(chosen))
  await trial.noise()
  const inside = dice.chance(0.6)
  const id = inside ? dice.pick(chosen) : String(rows[3]?.id)
  const end = await trial.act('Go on.', { id })
  return trial.check(end, {
    way: `${inside ? 'one of' : 'none of'} several chosen`,
    wanted: inside ? 'run' : 'refuse',
    input: { id },
  })
}

export const PLACES: readonly Generator[] = [
  namedPlace,
  barePlace,
  listInTurn,
  oldList,
  idAndPlace,
  chosenWins,
  chosenWins,
  chosenWins,
  severalChosen,
]
