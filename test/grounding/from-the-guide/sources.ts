/** "The guard": the table of sources, the options of entities, time, and the limits of knowledge. */
import { choose, type Row, show } from './conversation.ts'
import { type Generator, oneId, Trial } from './trial.ts'
import { corrupt, type Kind, kinds, oneKind } from './words.ts'

/** An id that a tool showed runs, one that nothing showed is refused; also long after every prompt has lost it. */
const seen: Generator = async (dice) => {
  const kind = oneKind(dice, dice.chance(0.3) ? { lookup: 'show' } : {})
  const small = dice.chance(0.3) ? { maxMessages: 4, toolResultTurns: 1 } : {}
  const trial = new Trial(dice, { entities: [kind.entity], input: oneId(kind), ...small })
  const rows = kind.rows(dice.between(1, 8))
  await trial.noise()
  await trial.talk.turn('What is there?', [show({ [kind.name]: rows })])
  await trial.noise(4)
  // Gap: where the window begins in the middle of the turn that showed an id, the id is unknown.
  if ('maxMessages' in small) for (let left = 2; left > 0; left--) await trial.talk.smallTalk('Thanks.')
  if (dice.chance(0.5)) {
    const id = String(dice.pick(rows).id)
    return trial.check(await trial.act('Go on.', { id }), { way: 'seen', wanted: 'run', input: { id } })
  }
  const end = await trial.act('Go on.', { id: kind.fresh() })
  return trial.check(end, { way: 'seen, invented', wanted: 'refuse', reason: 'unknown' })
}

/** A known id with one or two wrong letters: refused, and the first suggestion is the intended id. */
const nearId: Generator = async (dice) => {
  const kind = oneKind(dice)
  const trial = new Trial(dice, { entities: [kind.entity], input: oneId(kind) })
  const rows: Row[] = Array.from({ length: dice.between(2, 30) }, () => ({ id: kind.fresh() }))
  const way = dice.pick(['shown', 'said', 'chosen'])
  const meant = String(dice.pick(rows).id)
  if (way === 'shown') await trial.talk.turn('What is there?', [show({ [kind.name]: rows })])
  else if (way === 'said') await trial.talk.smallTalk(`Look at ${meant} please.`)
  else await trial.talk.select(kind.entity.select(meant))
  await trial.noise()
  const known = rows.map((row) => String(row.id))
  const end = await trial.act('Go on.', { id: corrupt(dice, meant, known) })
  return trial.check(end, { way: `corrupted, ${way}`, wanted: 'refuse', meant })
}

/** A result whose tool has no `returns` shows nothing, and neither do texts of the model and of hooks. */
const notShown: Generator = async (dice) => {
  const kind = oneKind(dice)
  const id = kind.fresh()
  const way = dice.pick(['another kind', 'the model', 'a hook', 'system prompt', 'metadata'])
  const other = kinds(
    dice,
    () => ({}),
    () => ({}),
  )[1] as Kind
  const entities = other.name === kind.name ? [kind.entity] : [kind.entity, other.entity]
  const trial = new Trial(dice, {
    entities,
    input: oneId(kind),
    ...(way === 'system prompt' ? { systemPrompt: `The best one is ${id}.` } : {}),
    ...(way === 'a hook' ? { on: { beforeIteration: ({ add }) => add(`Use ${id}.`) } } : {}),
  })
  if (way === 'the model') await trial.talk.smallTalk('Which one is best?', `I think ${id}.`)
  if (way === 'another kind')
    await trial.talk.turn('What is there?', [
      show({ [other.name === kind.name ? 'nothing' : other.name]: [{ id }] }),
    ])
  await trial.noise()
  if (way === 'metadata') await trial.talk.turn('Hm.', [], { metadata: { best: id } })
  const end = await trial.act('Go on.', { id })
  return trial.check(end, { way: `told by ${way}`, wanted: 'refuse' })
}

/** `sources` lists the reasons that count. */
const someSources: Generator = async (dice) => {
  const source = dice.pick(['state', 'seen', 'said', 'label', 'ordinal'] as const)
  const others = (['state', 'seen', 'said', 'label', 'ordinal', 'asked'] as const).filter(
    (one) => one !== source,
  )
  const counts = dice.chance(0.5)
  // A label or a position stands for a shown thing; whether it also needs `seen`, the guide does not say.
  const kept = source === 'label' || source === 'ordinal' ? [source, 'seen' as const] : [source]
  const kind = oneKind(dice, { sources: counts ? kept : others })
  const trial = new Trial(dice, { entities: [kind.entity], input: oneId(kind) })
  const rows = kind.rows(3)
  const at = dice.int(3)
  const { id, name = '' } = rows[at] as Row
  if (source === 'state') await trial.talk.select(kind.entity.select(String(id)))
  else if (source !== 'said') await trial.talk.turn('What is there?', [show({ [kind.name]: rows })])
  const written = {
    state: String(id),
    seen: String(id),
    said: String(id),
    label: name,
    ordinal: `${kind.name} ${at + 1}`,
  }
  const end = await trial.act(source === 'said' ? `Take ${id}.` : 'Go on.', { id: written[source] })
  const way = `sources: ${counts ? 'only' : 'all but'} ${source}`
  return trial.check(end, { way, wanted: counts ? 'run' : 'refuse', input: { id: String(id) } })
}

/** The label of one thing is its id; one that two things have is asked about; an unknown one is refused. */
const label: Generator = async (dice) => {
  const kind = oneKind(dice)
  const trial = new Trial(dice, { entities: [kind.entity], input: oneId(kind) })
  const rows = kind.rows(dice.between(2, 6))
  const way = dice.pick(['label', 'label of two', 'label of nothing', 'label of what is chosen'])
  const one = dice.pick(rows)
  const twin = { id: kind.fresh(), name: one.name ?? '' }
  if (way === 'label of what is chosen')
    await trial.talk.select(kind.entity.select(String(one.id), { label: one.name ?? '' }))
  else if (way !== 'label of nothing') {
    const twice = way === 'label of two' ? dice.shuffle([...rows, twin]) : rows
    await trial.talk.turn('What is there?', [show({ [kind.name]: twice })])
  }
  await trial.noise()
  const end = await trial.act('Go on.', { id: one.name ?? '' })
  if (way === 'label of nothing') return trial.check(end, { way, wanted: 'refuse', reason: 'unknown' })
  const answer = String(way === 'label of two' && dice.chance(0.5) ? twin.id : one.id)
  const wanted = way === 'label of two' ? 'ask' : 'run'
  return trial.check(end, { way, wanted, input: { id: answer }, answer })
}

/** `policy`: an unenforced id runs. */
const policy: Generator = async (dice) => {
  const chosen = dice.pick(['enforce', 'warn', 'off'] as const)
  const kind = oneKind(dice, { policy: chosen })
  const trial = new Trial(dice, { entities: [kind.entity], input: oneId(kind) })
  await trial.noise()
  const id = kind.fresh()
  const wanted = chosen === 'enforce' ? 'refuse' : 'run'
  return trial.check(await trial.act('Go on.', { id }), { way: `policy ${chosen}`, wanted, input: { id } })
}

const TTLS = [
  ['7h', 7],
  ['30m', 0.5],
  ['2d', 48],
  [3_600_000, 1],
  [undefined, 7],
] as const

/** Sightings, words and selections count for the `ttl`; a newer sighting or a use of the selection renews it. */
const ttl: Generator = async (dice) => {
  const [written, hours] = dice.pick(TTLS)
  const kind = oneKind(dice, written === undefined ? {} : { ttl: written })
  const trial = new Trial(dice, { entities: [kind.entity], input: oneId(kind) })
  const id = kind.fresh()
  const way = dice.pick(['seen', 'said', 'chosen', 'chosen and used'] as const)
  const know = async (): Promise<void> => {
    if (way === 'seen') await trial.talk.turn('What is there?', [show({ [kind.name]: [{ id }] })])
    else if (way === 'said') await trial.talk.smallTalk(`There is ${id}.`)
    else await trial.talk.select(kind.entity.select(id))
  }
  await know()
  const again = dice.chance(0.4)
  if (again || way === 'chosen and used') {
    trial.talk.pass(hours * 0.6)
    if (way === 'chosen and used') await trial.act('Go on.', { id })
    else await know()
  }
  const late = dice.chance(0.5)
  trial.talk.pass(hours * (late ? 1.1 : 0.9))
  await trial.noise()
  const end = await trial.act('Go on.', { id })
  const truth = late
    ? { wanted: 'refuse' as const, ...(way === 'seen' ? { reason: 'expired' } : {}) }
    : { wanted: 'run' as const }
  return trial.check(end, { way: `ttl, ${way}`, ...truth, input: { id } })
}

/** Sightings and words count in their conversation, in its forks, and not after `clear()`. */
const where: Generator = async (dice) => {
  const kind = oneKind(dice)
  const options = { entities: [kind.entity], input: oneId(kind) }
  const trial = new Trial(dice, options)
  const id = kind.fresh()
  const said = dice.chance(0.5)
  const know = async (): Promise<void> => {
    if (said) await trial.talk.smallTalk(`There is ${id}.`)
    else await trial.talk.turn('What is there?', [show({ [kind.name]: [{ id }] })])
  }
  const place = dice.pick(['clear', 'fork before', 'fork after', 'another conversation'] as const)
  const way = `${said ? 'said' : 'shown'}, ${place}`
  await trial.talk.smallTalk('Hello.')
  if (place !== 'fork before') await know()
  await trial.noise()
  if (place === 'another conversation') {
    const other = new Trial(dice, { ...options, contextId: 'elsewhere', store: trial.talk.agent.store })
    return other.check(await other.act('Go on.', { id }), { way, wanted: 'refuse' })
  }
  if (place === 'clear') await trial.talk.agent.clear()
  else {
    const fork = await trial.talk.agent.fork('fork')
    if (place === 'fork before') await know()
    trial.talk.agent = fork
  }
  const end = await trial.act('Go on.', { id })
  return trial.check(end, { way, wanted: place === 'fork after' ? 'run' : 'refuse', input: { id } })
}

/** `scope: 'actor'`: a selection holds in all conversations of the person; else in its own. */
const scope: Generator = async (dice) => {
  const own = dice.chance(0.5)
  const kind = oneKind(dice, own ? { scope: 'actor' } : {})
  const options = { entities: [kind.entity], input: oneId(kind) }
  const trial = new Trial(dice, options)
  const id = kind.fresh()
  if (dice.chance(0.5)) await trial.talk.select(kind.entity.select(id))
  else await trial.talk.turn('That one.', [choose(kind.name, id, { by: 'person' })])
  const { store, owner } = trial.talk.agent
  const stranger = dice.chance(0.3)
  const other = new Trial(dice, {
    ...options,
    contextId: 'elsewhere',
    store,
    owner: stranger ? { ...owner, actor: 'somebody' } : owner,
  })
  await other.noise()
  const end = await other.act('Go on.', { id })
  const wanted = own && !stranger ? 'run' : 'refuse'
  return other.check(end, { way: `scope ${own ? 'actor' : 'conversation'}`, wanted, input: { id } })
}

export const SOURCES: readonly Generator[] = [
  seen,
  nearId,
  nearId,
  nearId,
  notShown,
  someSources,
  label,
  policy,
  ttl,
  where,
  scope,
]
