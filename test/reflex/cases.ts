/** Conversations with what has to come of each message, made from a set of tools and a way of speaking. */
import type { Json, JsonObject } from '../../src/protocol/index.ts'
import type { Phrases } from './phrases.ts'
import type { Random } from './random.ts'
import type { Kind, Thing, ToolSet } from './tool-sets.ts'

export type Expectation =
  /** These calls and no others, but for looking things up first. */
  | {
      readonly kind: 'calls'
      readonly calls: readonly { readonly tool: string; readonly args: JsonObject }[]
    }
  /** A question that has all of these words in it. */
  | { readonly kind: 'question'; readonly words: readonly string[] }
  | { readonly kind: 'offer' }
  /** Anything but a call. */
  | { readonly kind: 'no call' }

export interface Message {
  readonly text: string
  readonly expected: Expectation
}

export interface Case {
  readonly kind: string
  readonly messages: readonly Message[]
}

interface Making {
  readonly set: ToolSet
  readonly random: Random
  readonly phrases: Phrases
}

export function makeCases(set: ToolSet, random: Random, phrases: Phrases): Case[] {
  const making = { set, random, phrases }
  return MAKERS.flatMap((make) => make(making, random.pick(set.kinds)) ?? [])
}

function put(template: string, words: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => words[name] ?? `{${name}}`)
}

function say(
  { random, phrases }: Making,
  templates: readonly string[],
  words: Readonly<Record<string, string>>,
): string {
  const request = put(random.pick(templates), words)
  const capital = request.charAt(0).toUpperCase() + request.slice(1)
  return put(random.pick(phrases.around), { r: request, R: capital })
}

const calls = (tool: string, args: JsonObject): Expectation => ({ kind: 'calls', calls: [{ tool, args }] })
const question = (...words: string[]): Expectation => ({ kind: 'question', words })

type Maker = (making: Making, kind: Kind) => Case | undefined

const listed: Maker = (making, { noun, plural, list }) => {
  const templates = list.verb === 'list' ? making.phrases.list : making.phrases.listByVerb
  const text = say(making, templates, { noun, nouns: plural, verb: list.verb })
  return { kind: 'list', messages: [{ text, expected: calls(list.name, {}) }] }
}

const limited: Maker = (making, { noun, plural, list }) => {
  if (list.verb !== 'list') return undefined
  const n = making.random.between(2, 90)
  const text = say(making, making.phrases.limited, { noun, nouns: plural, n: `${n}` })
  return { kind: 'number', messages: [{ text, expected: calls(list.name, { limit: n }) }] }
}

const created: Maker = (making, kind) => {
  const { random, phrases } = making
  const name = random.chance(0.5) ? random.name() : `${random.name()} ${random.name()}`
  const n = random.between(2, 5000)
  const tags = [random.word(), random.word(), random.word()]
  const choice = random.pick(kind.choices)
  const template = random.pick(phrases.createFull)
  const email = `${random.word()}@${random.word()}.org`
  const date = `20${random.between(24, 31)}-0${random.between(1, 9)}-${random.between(10, 28)}`
  const { noun, amount, flag, trait } = kind
  const words = {
    verb: kind.create.verb,
    noun,
    amount,
    flag,
    flag0: flag,
    trait,
    Name: name,
    n: `${n}`,
    choice,
    date,
    email,
    tag1: tags[0] ?? '',
    tag2: tags[1] ?? '',
    tag3: tags[2] ?? '',
  }
  const has = (place: string): boolean => template.includes(`{${place}}`)
  const args: Record<string, Json> = { name, [amountName(kind)]: n }
  if (has('choice')) args[trait] = choice
  if (has('date')) Object.assign(args, { start: date, contact: email })
  if (has('tag1')) args['tags'] = tags
  if (has('flag')) args[flag] = true
  if (has('flag0')) args[flag] = false
  return {
    kind: 'create',
    messages: [{ text: say(making, [template], words), expected: calls(kind.create.name, args) }],
  }
}

function amountName({ create, amount }: Kind): string {
  const { properties } = create.declaration.inputSchema as { properties: JsonObject }
  return Object.keys(properties).find((name) => name.toLowerCase().endsWith(amount)) ?? amount
}

/** One thing after the other is missing, and is given in answers. */
const asked: Maker = (making, kind) => {
  const { random, phrases } = making
  const name = random.name()
  const n = random.between(2, 500)
  const first = say(making, phrases.create, { verb: kind.create.verb, noun: kind.noun })
  return {
    kind: 'missing',
    messages: [
      { text: first, expected: question('name') },
      {
        text: random.pick([name, `"${name}"`, `it is ${name}`, `${name}, please`]),
        expected: question(amountName(kind)),
      },
      {
        text: random.pick([`${n}`, `${n} please`, `make it ${n}`]),
        expected: calls(kind.create.name, { name, [amountName(kind)]: n }),
      },
    ],
  }
}

function clear(random: Random, things: readonly Thing[]): Thing {
  return random.pick(
    things.filter(
      ({ name }) => !things.some((other) => other.name !== name && other.name.split(' ')[0] === name),
    ),
  )
}

const acted: Maker = (making, { noun, act, things, idName }) => {
  const thing = clear(making.random, things)
  const text = say(making, making.phrases.act, { verb: act.verb, noun, label: thing.name })
  return { kind: 'chain', messages: [{ text, expected: calls(act.name, { [idName]: thing.id }) }] }
}

const actedById: Maker = (making, { noun, act, things, idName }) => {
  const thing = making.random.pick(things)
  const text = say(making, making.phrases.actById, { verb: act.verb, noun, id: String(thing.id) })
  return { kind: 'id', messages: [{ text, expected: calls(act.name, { [idName]: String(thing.id) }) }] }
}

const tuned: Maker = (making, { noun, tune, things, idName, amount }) => {
  const thing = clear(making.random, things)
  const n = making.random.between(2, 90)
  const text = say(making, making.phrases.tune, {
    verb: tune.verb,
    noun,
    amount,
    label: thing.name,
    n: `${n}`,
  })
  return {
    kind: 'chain+number',
    messages: [{ text, expected: calls(tune.name, { [idName]: thing.id, [amount]: n }) }],
  }
}

const shown: Maker = (making, { noun, get, things, idName }) => {
  const thing = clear(making.random, things)
  const text = say(making, making.phrases.get, { verb: get.verb, noun, label: thing.name })
  return { kind: 'get', messages: [{ text, expected: calls(get.name, { [idName]: thing.id }) }] }
}

/** Two things share the word that was said. */
const doubtful: Maker = (making, { noun, act, things, idName }) => {
  const first = (thing: Thing): string => thing.name.split(' ')[0] as string
  const shared = things.find(
    (thing) => things.filter((other) => first(other) === first(thing)).length > 1,
  ) as Thing
  const both = things.filter((thing) => first(thing) === first(shared))
  const meant = making.random.pick(both)
  const text = say(making, making.phrases.act, { verb: act.verb, noun, label: first(shared) })
  const answer = making.random.pick([
    meant.name,
    meant.name.split(' ')[1] as string,
    `the ${meant.name.split(' ')[1]} one`,
    both.indexOf(meant) === 0 ? 'the first' : 'the second one',
  ])
  const expected = question(...both.map(({ name }) => name))
  return {
    kind: 'two rows',
    messages: [
      { text, expected },
      { text: answer, expected: calls(act.name, { [idName]: meant.id }) },
    ],
  }
}

const followed: Maker = (making, { noun, plural, list, act, get, things, idName }) => {
  const { random, phrases } = making
  const templates = list.verb === 'list' ? phrases.list : phrases.listByVerb
  const words = { noun, nouns: plural }
  const [first, second] = random.shuffle([0, 1]).map((at) => things[at] as Thing) as [Thing, Thing]
  return {
    kind: 'follow-up',
    messages: [
      { text: say(making, templates, { ...words, verb: list.verb }), expected: calls(list.name, {}) },
      {
        text: say(making, phrases.second, { ...words, verb: act.verb }),
        expected: calls(act.name, { [idName]: (things[1] as Thing).id }),
      },
      {
        text: put(random.pick(['{verb} {label}', 'now {verb} the {noun} {label}']), {
          ...words,
          verb: get.verb,
          label: first.name,
        }),
        expected: calls(get.name, { [idName]: first.id }),
      },
      {
        text: put(random.pick(phrases.it), { ...words, verb: act.verb }),
        expected: calls(act.name, { [idName]: first.id }),
      },
      ...(second === things[1]
        ? []
        : [
            {
              text: random.pick(['and the second one', 'the second one too']),
              expected: calls(act.name, { [idName]: (things[1] as Thing).id }),
            },
          ]),
    ],
  }
}

const searched: Maker = (making, { noun, plural, search }) => {
  if (search === undefined) return undefined
  const { random, phrases } = making
  const words = random.chance(0.5) ? random.word() : `${random.word()} ${random.word()}`
  const text = say(making, phrases.search, { verb: search.verb, noun, nouns: plural, words })
  return { kind: 'search', messages: [{ text, expected: calls(search.name, { query: words }) }] }
}

const twinned: Maker = (making) => {
  const { verb, noun, names } = making.set.twins
  const answer = making.random.pick(['the first one', '1', 'the second', names[1]])
  const chosen = answer.includes('1') || answer.includes('first') ? 0 : 1
  const text = say(making, making.phrases.twins, { verb, noun })
  return {
    kind: 'two tools',
    messages: [
      { text, expected: question(...names) },
      {
        text: answer,
        expected: {
          kind: 'calls',
          calls: [
            {
              tool: chosen === 0 ? 'FIRST OFFERED' : answer.startsWith('the') ? 'SECOND OFFERED' : names[1],
              args: {},
            },
          ],
        },
      },
    ],
  }
}

const senseless: Maker = (making) => {
  const { random, phrases } = making
  const text = put(random.pick(phrases.nonsense), { x: random.word(), y: random.word(), z: random.word() })
  return { kind: 'nonsense', messages: [{ text, expected: { kind: 'offer' } }] }
}

/** Things of things: each lookup may need another one first. */
const parts: Maker = (making) => {
  const { noun, plural, owner, list, ids } = making.set.part
  const thing = clear(making.random, owner.things)
  const text = say(making, making.phrases.parts, {
    noun,
    nouns: plural,
    owner: owner.noun,
    label: thing.name,
  })
  return { kind: 'parts', messages: [{ text, expected: calls(list.name, { [ids.owner]: thing.id }) }] }
}

const makesPart: Maker = (making) => {
  const { random, phrases, set } = making
  const { noun, owner, create, ids } = set.part
  const thing = clear(random, owner.things)
  const template = random.pick(phrases.makePart)
  const title = random.chance(0.5) ? random.name() : `${random.name()} ${random.word()}`
  const text = say(making, [template], {
    verb: create.verb,
    noun,
    owner: owner.noun,
    label: thing.name,
    Name: title,
  })
  const args = { [ids.owner]: thing.id, title, ...(template.includes('urgent') ? { urgent: true } : {}) }
  return { kind: 'part in thing', messages: [{ text, expected: calls(create.name, args) }] }
}

/** Only what was listed before is known, since parts cannot be listed without their owner. */
const movesPart: Maker = (making) => {
  const { random, phrases, set } = making
  const { noun, plural, owner, list, move, ids, things } = set.part
  const [from, to] = random.shuffle(owner.things).slice(0, 2) as [Thing, Thing]
  const moved = random.pick(things.get(from.id) ?? [])
  const words = { noun, nouns: plural, owner: owner.noun }
  return {
    kind: 'two ids',
    messages: [
      {
        text: `list the ${plural} of the ${owner.noun} ${from.name}`,
        expected: calls(list.name, { [ids.owner]: from.id }),
      },
      {
        text: say(making, phrases.movePart, { ...words, verb: move.verb, part: moved.name, label: to.name }),
        expected: calls(move.name, { [ids.part]: moved.id, [ids.owner]: to.id }),
      },
    ],
  }
}

/** What is asked for is done by no tool. */
const absent: Maker = (making, { noun, things }) => {
  const { random, phrases } = making
  const verb = random.pick([random.word(), random.word(), 'delete', 'rename', 'print'])
  const text = say(making, phrases.act, { verb, noun, label: random.pick(things).name })
  return { kind: 'absent', messages: [{ text, expected: { kind: 'no call' } }] }
}

const doubled: Maker = (making, kind) => {
  const other = making.set.kinds.find((each) => each !== kind)
  if (kind.list.verb !== 'list' || other === undefined) return undefined
  const thing = clear(making.random, other.things)
  const text = `list the ${kind.plural} and ${other.act.verb} the ${other.noun} ${thing.name}`
  const both = [
    { tool: kind.list.name, args: {} },
    { tool: other.act.name, args: { [other.idName]: thing.id } },
  ]
  return { kind: 'two at once', messages: [{ text, expected: { kind: 'calls', calls: both } }] }
}

const MAKERS: readonly Maker[] = [
  listed,
  limited,
  created,
  asked,
  acted,
  actedById,
  tuned,
  shown,
  doubtful,
  followed,
  searched,
  twinned,
  senseless,
  absent,
  parts,
  makesPart,
  movesPart,
  doubled,
]
