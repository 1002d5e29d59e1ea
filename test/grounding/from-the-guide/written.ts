/** "What the person wrote" and "Forms of an id". */
import { z } from 'zod'
import { type Entity, entity } from '../../../src/entry/grounding.ts'
import { askUser, defineTool } from '../../../src/index.ts'
import { choose, show, type Talk } from './conversation.ts'
import type { Dice } from './dice.ts'
import { type Generator, oneId, Trial } from './trial.ts'
import { type Kind, LOOKS, nounOf, oneKind, smallTalk } from './words.ts'

const ALONE: readonly ((id: string) => string)[] = [
  (id) => `Look at ${id}.`,
  (id) => id,
  (id) => `It is (${id}), please.`,
  (id) => `Take "${id}"!`,
  (id) => `Prenez « ${id} », merci.`,
  (id) => `${id}, what of it?`,
  (id) => `Is it ${id}?`,
  (id) => `this one:\n${id}\nplease`,
  (id) => `I mean \`${id}\`; do it`,
]

/** An id that is a whole token counts, in this turn and in later ones. */
const said: Generator = async (dice) => {
  const kind = oneKind(dice)
  const trial = new Trial(dice, { entities: [kind.entity], input: oneId(kind) })
  const id = kind.fresh()
  const message = dice.pick(ALONE)(id)
  await trial.noise(1)
  const earlier = dice.chance(0.5)
  if (earlier) {
    await trial.talk.smallTalk(message)
    await trial.noise()
  }
  const end = await trial.act(earlier ? 'Go on.' : message, { id })
  return trial.check(end, { way: earlier ? 'said earlier' : 'said now', wanted: 'run', input: { id } })
}

// Gap: `x#W123456` counts as `#W123456`, though it is not a whole token; ids with a leading sign get no `x` here.
const INSIDE: readonly ((id: string) => string)[] = [(id) => `${id}0`, (id) => `x${id}`, (id) => `${id}-b`]
const INSIDE_NUMBER: readonly ((id: string) => string)[] = [
  (id) => `${id}.5`,
  (id) => `${id}/05`,
  (id) => `${id} €`,
  (id) => `${id} %`,
]

/** `12` is not in `120`, `x12`, `12-b`, `12.5`, `12/05`, `12 €` or `12 %`. */
const saidInside: Generator = async (dice) => {
  const numbers = dice.chance(0.6)
  const noun = nounOf(dice)
  const length = dice.between(1, 6)
  const kind = numbers ? entity(noun.en, { pattern: /\d{1,6}/ }) : undefined
  const other = oneKind(dice)
  const mine = kind ?? other.entity
  const id = numbers ? dice.text('123456789', length) : other.fresh()
  const word = dice.pick(numbers ? [...INSIDE, ...INSIDE_NUMBER] : INSIDE)(id)
  const trial = new Trial(dice, { entities: [mine], input: idOf(mine) })
  const clear = word.startsWith('x#') ? word.slice(1) + 'x' : word
  const end = await trial.act(`I have ${clear} here.`, { id })
  return trial.check(end, { way: 'said inside of something', wanted: 'refuse' })
}

function idOf(kind: Entity): z.ZodType {
  return z.object({ id: z.string().meta(kind.id()) })
}

/** Without `pattern`, no id counts because a person wrote it. */
const noPattern: Generator = async (dice) => {
  const kind = entity(nounOf(dice).en)
  const id = dice.pick(LOOKS).make(dice)
  const trial = new Trial(dice, { entities: [kind], input: idOf(kind) })
  const end = await trial.act(`Take ${kind.name} ${id}.`, { id })
  return trial.check(end, { way: 'said, no pattern', wanted: 'refuse' })
}

/** The noun of another entity right before an id claims it. */
const otherNoun: Generator = async (dice) => {
  const language = dice.pick(['en', 'fr'] as const)
  const [mine, theirs] = dice.pick([
    [
      { en: 'project', fr: 'projet' },
      { en: 'task', fr: 'tâche' },
    ],
    [
      { en: 'order', fr: 'commande' },
      { en: 'invoice', fr: 'facture' },
    ],
  ] as const)
  const way = dice.pick(['no pattern', 'fits too', 'small number', 'does not fit', 'own noun'] as const)
  const digits = way === 'small number' ? dice.between(1, 4) : dice.between(5, 7)
  const id = dice.text('123456789', digits)
  const pattern = {
    'no pattern': undefined,
    'fits too': /\d{5,8}/,
    'small number': /t-\d+/,
    'does not fit': /t-\d+/,
    'own noun': /\d+/,
  }[way]
  const kind = entity(mine.en, { pattern: /\d{1,7}/, called: { fr: { one: mine.fr, active: mine.fr } } })
  const other = entity(theirs.en, {
    ...(pattern === undefined ? {} : { pattern }),
    called: { fr: { one: theirs.fr, active: theirs.fr } },
  })
  const trial = new Trial(dice, { entities: [kind, other], input: idOf(kind), grounding: { language } })
  const noun = (way === 'own noun' ? mine : theirs)[language]
  const message = language === 'en' ? `Show me ${noun} ${id} please.` : `Montrez-moi ${noun} ${id} merci.`
  const earlier = way !== 'own noun' && dice.chance(0.3)
  if (earlier) await trial.talk.smallTalk(message)
  const end = await trial.act(earlier ? 'Go on.' : message, { id })
  const wanted = way === 'does not fit' || way === 'own noun' ? 'run' : 'refuse'
  return trial.check(end, { way: `noun before it: ${way}`, wanted, input: { id } })
}

/** A `#` may be left out if a letter follows or its noun comes before. */
const hash: Generator = async (dice) => {
  const letter = dice.chance(0.5)
  const noun = nounOf(dice)
  const kind = entity(noun.en, {
    pattern: letter ? /#[A-Z]\d{5}/ : /#\d{5}/,
    called: { fr: { one: noun.fr, active: noun.fr } },
  })
  const bare = `${letter ? 'W' : ''}${dice.text('123456789', 5)}`
  const way = dice.pick(['whole', 'after its noun', 'alone'] as const)
  const french = dice.chance(0.5)
  const words = { whole: `#${bare}`, 'after its noun': `${french ? noun.fr : noun.en} ${bare}`, alone: bare }[
    way
  ]
  const trial = new Trial(dice, {
    entities: [kind],
    input: idOf(kind),
    grounding: { language: french ? 'fr' : 'en' },
  })
  const message = french ? `Je veux ${words} merci.` : `I want ${words} please.`
  const earlier = dice.chance(0.5)
  if (earlier) await trial.talk.smallTalk(message)
  const end = await trial.act(earlier ? 'Go on.' : message, { id: `#${bare}` })
  const wanted = way === 'alone' && !letter ? 'refuse' : 'run'
  return trial.check(end, {
    way: `#, ${way}, ${letter ? 'a letter' : 'a digit'} follows`,
    wanted,
    input: { id: `#${bare}` },
  })
}

/** A number of up to four digits from an earlier turn counts only after its noun or a sign. */
const smallNumber: Generator = async (dice) => {
  const noun = nounOf(dice)
  const kind = entity(noun.en, { pattern: /\d{1,4}/, called: { fr: { one: noun.fr, active: noun.fr } } })
  const id = dice.text('123456789', dice.between(1, 4))
  const french = dice.chance(0.4)
  const way = dice.pick(['bare', 'noun', '#', 'no.', 'id'] as const)
  const words = {
    bare: id,
    noun: `${french ? noun.fr : noun.en} ${id}`,
    '#': `#${id}`,
    'no.': `no. ${id}`,
    id: `id ${id}`,
  }[way]
  const trial = new Trial(dice, {
    entities: [kind],
    input: idOf(kind),
    grounding: { language: french ? 'fr' : 'en' },
  })
  const message = french ? `Voici ${words} merci.` : `Here is ${words} thanks.`
  const earlier = dice.chance(0.6)
  if (earlier) {
    await trial.talk.smallTalk(message)
    await trial.noise()
  }
  const end = await trial.act(earlier ? 'Go on.' : message, { id })
  const wanted = earlier && way === 'bare' ? 'refuse' : 'run'
  return trial.check(end, {
    way: `small number, ${way}, ${earlier ? 'earlier' : 'now'}`,
    wanted,
    input: { id },
  })
}

/** Before the window, words are in an index of tokens; an id that looks like a word counts in the window only. */
const beforeWindow: Generator = async (dice) => {
  const way = dice.pick([
    'with a digit',
    'a word in the window',
    'a word before the window',
    'after 256 tokens',
  ] as const)
  const word = way.startsWith('a word')
  const kind = word ? entity('site', { pattern: /[a-z]{6,8}/ }) : oneKind(dice).entity
  const made = word ? undefined : oneKind(dice)
  const mine = made?.entity ?? kind
  const id = word ? dice.pick(['champig', 'kelpbay', 'harbour']) : (made as Kind).fresh()
  const trial = new Trial(dice, { entities: [mine], input: idOf(mine), maxMessages: 4 })
  const before = way === 'after 256 tokens' ? 257 : dice.int(200)
  const codes = Array.from({ length: before }, (_, at) => `b-${at}`)
  await trial.talk.smallTalk(`${codes.join(' ')} Look at ${id} please.`)
  if (way !== 'a word in the window')
    for (let left = 4; left > 0; left--) await trial.talk.smallTalk('Thanks.')
  const end = await trial.act('Go on.', { id })
  const wanted = way === 'with a digit' || way === 'a word in the window' ? 'run' : 'refuse'
  return trial.check(end, { way: `window: ${way}`, wanted, input: { id } })
}

/** Grows when a message is posted: while the tool waits, nothing else is stored. */
async function lastPosition({ agent }: Talk): Promise<number> {
  const { heads } = await agent.store.list({ owner: agent.owner })
  return heads.reduce((sum, { seq }) => sum + seq, 0)
}

/** Steering, answers and imported user messages are the person's words; imported replies are not. */
const otherWords: Generator = async (dice) => {
  const kind = oneKind(dice)
  const id = kind.fresh()
  const way = dice.pick(['steering', 'answer', 'imported user', 'imported assistant'] as const)
  const running = Promise.withResolvers<void>()
  const steered = Promise.withResolvers<void>()
  const wait = defineTool({
    name: 'wait',
    description: 'Waits.',
    input: z.object({}),
    run: async () => {
      running.resolve()
      await steered.promise
      return 'waited'
    },
  })
  const trial = new Trial(dice, { entities: [kind.entity], input: oneId(kind), tools: [wait, askUser()] })
  const { talk } = trial
  const truth = { way, wanted: way === 'imported assistant' ? 'refuse' : 'run', input: { id } } as const
  if (way === 'steering') {
    const ending = trial.act('Wait.', { id }, { before: [{ tool: 'wait', args: {} }] })
    await running.promise
    const before = await lastPosition(talk)
    talk.agent.executeTurn(`Take ${id}.`, { whileBusy: 'steer' })
    while ((await lastPosition(talk)) === before) await new Promise((resolve) => setImmediate(resolve))
    steered.resolve()
    return trial.check(await ending, truth)
  }
  if (way === 'answer') {
    const asked = await talk.turn('Do it.', [{ tool: 'ask_user', args: { question: 'Which one?' } }])
    const requestId = asked.requests[0]?.requestId ?? ''
    if (dice.chance(0.5))
      return trial.check(
        await talk.answer({ [requestId]: `Take ${id}.` }, [{ tool: 'act', args: { id } }]),
        truth,
      )
    await talk.answer({ [requestId]: `Take ${id}.` })
    return trial.check(await trial.act('Go on.', { id }), truth)
  }
  const words = `It is ${id}.`
  await talk.agent.importMessages([
    { role: 'user', content: way === 'imported user' ? words : smallTalk(dice) },
    { role: 'assistant', content: way === 'imported user' ? 'Good.' : words },
  ])
  talk.story.push(`imported from ${way}: ${words}`)
  return trial.check(await trial.act('Go on.', { id }), truth)
}

const TIDY = (id: string): string => id.replaceAll(/[^\da-z]/gi, '').toUpperCase()

function variant(dice: Dice, id: string): string {
  return dice.pick([
    id.toLowerCase(),
    `#${id}`,
    `${id.slice(0, 3)} ${id.slice(3)}`,
    `${id.slice(0, 3)}-${id.slice(3)}`,
  ])
}

/** With `normalize`, the tool gets the id as it was shown or selected; without, ids that differ in case are different. */
const forms: Generator = async (dice) => {
  const noun = nounOf(dice)
  const normal = dice.chance(0.8)
  const kind = entity(noun.en, { pattern: /[A-Z]{3}\d{4}/, ...(normal ? { normalize: TIDY } : {}) })
  const id = `${dice.text('ABCDEFGH', 3)}${dice.text('123456789', 4)}`
  const trial = new Trial(dice, { entities: [kind], input: idOf(kind) })
  const known = dice.pick(['shown', 'chosen', 'chosen by a tool', 'said'] as const)
  // The known form differs from the written one, unless the person only wrote it. A program selects no id that does not fit
  // the pattern.
  const isAsIs = known === 'said' || (known === 'chosen' && !normal)
  const form = isAsIs ? id : dice.pick([id, variant(dice, id)])
  const written = known === 'said' || form !== id ? id : variant(dice, id)
  if (known === 'shown')
    await trial.talk.turn('List.', [show({ [kind.name]: [{ id: form }, { id: 'ZZZ0001' }] })])
  if (known === 'chosen') await trial.talk.select(kind.select(form))
  if (known === 'chosen by a tool') await trial.talk.turn('That.', [choose(kind.name, form)])
  const spoken = dice.pick([`${id.slice(0, 3)} ${id.slice(3)}`, id.toLowerCase(), id])
  const end = await trial.act(known === 'said' ? `Take ${spoken} please.` : 'Go on.', { id: written })
  const input = { id: known === 'said' ? written : form }
  const wanted = normal || (known === 'said' ? spoken : form) === written ? 'run' : 'refuse'
  return trial.check(end, { way: `${normal ? 'normalize' : 'no normalize'}, ${known}`, wanted, input })
}

/** Of an id that was only written, the tool gets the form that fits the pattern: the model's, else the person's. */
const saidForms: Generator = async (dice) => {
  const kind = entity(nounOf(dice).en, { pattern: /[A-Z]{3}\d{4}/, normalize: TIDY })
  const id = `${dice.text('ABCDEFGH', 3)}${dice.text('123456789', 4)}`
  const trial = new Trial(dice, { entities: [kind], input: idOf(kind) })
  const end = await trial.act(`Take ${id} please.`, { id: id.toLowerCase() })
  return trial.check(end, { way: 'normalize, the person wrote it well', wanted: 'run', input: { id } })
}

/** Two known ids with the same normal form are asked about. */
const sameForm: Generator = async (dice) => {
  const kind = entity(nounOf(dice).en, { pattern: /[A-Z]{3}-?\d{4}/, normalize: TIDY })
  const id = `${dice.text('ABCDEFGH', 3)}${dice.text('123456789', 4)}`
  const twins = [id, `${id.slice(0, 3)}-${id.slice(3)}`]
  const trial = new Trial(dice, { entities: [kind], input: idOf(kind) })
  if (dice.chance(0.5))
    await trial.talk.turn('List.', [show({ [kind.name]: twins.map((one) => ({ id: one })) })])
  else for (const one of twins) await trial.talk.turn('Look.', [show({ [kind.name]: [{ id: one }] })])
  const end = await trial.act('Go on.', { id: id.toLowerCase() })
  return trial.check(end, { way: 'same normal form', wanted: 'ask' })
}

/** A number becomes a text where the schema wants one, and the reverse. */
const numbers: Generator = async (dice) => {
  const kind = entity(nounOf(dice).en, { pattern: /\d{6}/ })
  const id = Number(dice.text('123456789', 6))
  const text = dice.chance(0.5)
  const schema = text ? z.string() : z.number()
  const trial = new Trial(dice, { entities: [kind], input: z.object({ id: schema.meta(kind.id()) }) })
  await trial.talk.turn('List.', [show({ [kind.name]: [{ id: dice.chance(0.5) ? id : String(id) }] })])
  const end = await trial.act('Go on.', { id: dice.chance(0.5) ? id : String(id) })
  return trial.check(end, {
    way: `a ${text ? 'text' : 'number'} is wanted`,
    wanted: 'run',
    input: { id: text ? String(id) : id },
  })
}

export const SAID: readonly Generator[] = [
  said,
  saidInside,
  noPattern,
  otherNoun,
  hash,
  smallNumber,
  beforeWindow,
  otherWords,
  forms,
  saidForms,
  sameForm,
  numbers,
]
