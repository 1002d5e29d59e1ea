/** Generated sets of tools over things that do not exist, with a small world behind them that answers their calls. */
import type { ToolDeclaration } from '../../src/model/index.ts'
import type { Json, JsonObject } from '../../src/protocol/index.ts'
import type { Random } from './random.ts'

export interface Thing {
  readonly id: string | number
  readonly name: string
  readonly [key: string]: Json
}

/** One kind of thing and the tools for it. */
export interface Kind {
  readonly noun: string
  readonly plural: string
  /** A yes-or-no, a number, a choice and a date that things of this kind have. */
  readonly flag: string
  readonly amount: string
  readonly trait: string
  readonly choices: readonly string[]
  readonly idName: string
  readonly list: Tool
  readonly create: Tool
  readonly act: Tool
  /** Takes an id and a number. */
  readonly tune: Tool
  readonly search?: Tool
  readonly get: Tool
  readonly things: readonly Thing[]
}

export interface Tool {
  readonly name: string
  /** How people say it. */
  readonly verb: string
  readonly declaration: ToolDeclaration
  readonly reads: boolean
}

/** Things that belong to things of another kind. */
export interface Part {
  readonly noun: string
  readonly plural: string
  readonly owner: Kind
  /** Needs the id of the owner. */
  readonly list: Tool
  readonly create: Tool
  /** Takes the id of a part and the id of an owner. */
  readonly move: Tool
  readonly ids: { readonly part: string; readonly owner: string }
  readonly things: ReadonlyMap<Thing['id'], readonly Thing[]>
}

export interface ToolSet {
  readonly part: Part
  readonly tools: readonly ToolDeclaration[]
  readonly kinds: readonly Kind[]
  /** Two tools that the same words mean. */
  readonly twins: { readonly verb: string; readonly noun: string; readonly names: readonly [string, string] }
  readonly reading: ReadonlySet<string>
  readonly answer: (tool: string, args: JsonObject) => Json
}

type Style = (words: readonly string[]) => string

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)
const camel: Style = ([first = '', ...rest]) => first + rest.map(capital).join('')
const STYLES: readonly Style[] = [
  (words) => words.join('_'),
  (words) => words.join('-'),
  camel,
  (words) => words.map(capital).join(''),
]

interface Making {
  readonly random: Random
  readonly style: Style
  readonly param: Style
}

export function makeToolSet(random: Random): ToolSet {
  const making: Making = {
    random,
    style: random.pick(STYLES),
    param: random.pick([camel, STYLES[0] as Style]),
  }
  const kinds = Array.from({ length: random.between(2, 3) }, () => makeKind(making))
  const twins = makeTwins(making, kinds[0] as Kind)
  const part = makePart(making, kinds[1] as Kind)
  const all = kinds.flatMap(({ list, create, act, tune, get, search }) => [
    list,
    create,
    act,
    tune,
    get,
    ...(search ? [search] : []),
  ])
  all.push(part.list, part.create, part.move)
  return {
    tools: random.shuffle([...all.map(({ declaration }) => declaration), ...twins.declarations]),
    kinds,
    part,
    twins,
    reading: new Set(all.filter(({ reads }) => reads).map(({ name }) => name)),
    answer: (name, args) => {
      if (name !== part.list.name) return answerOf(kinds, name, args)
      return [...(ownedBy(part, args[part.ids.owner]) ?? [])]
    },
  }
}

function makeKind(making: Making): Kind {
  const { random, param } = making
  const noun = random.word()
  const words = {
    noun,
    plural: `${noun}s`,
    flag: random.word(),
    amount: random.word(),
    trait: random.word(),
    choices: [random.word(), random.word(), random.word()],
    idName: random.chance(0.25) ? 'id' : param([noun, 'id']),
  }
  const tools = {
    list: listTool(making, words),
    create: createTool(making, words),
    act: actTool(making, words),
    tune: tuneTool(making, words),
    get: getTool(making, words),
    ...(random.chance(0.3) ? { search: searchTool(making, words) } : {}),
  }
  return { ...words, ...tools, things: makeThings(random, words.choices) }
}

type Words = Pick<Kind, 'noun' | 'plural' | 'flag' | 'amount' | 'trait' | 'choices' | 'idName'>

function makeThings(random: Random, choices: readonly string[]): Thing[] {
  const numeric = random.chance(0.3)
  const shared = random.name()
  const prefix = random.word().slice(0, 2)
  const names = [
    `${shared} ${random.name()}`,
    `${shared} ${random.name()}`,
    random.name(),
    random.name(),
    `${random.name()} ${random.name()}`,
  ]
  return random.shuffle(names).map((name, at) => ({
    id: numeric ? 1000 + at * 37 : `${prefix}_${random.between(100, 999)}${at}`,
    name,
    state: random.pick(choices),
  }))
}

interface Parts {
  readonly words: readonly string[]
  readonly verb: string
  readonly description: string
  readonly properties: JsonObject
  readonly required?: readonly string[]
  readonly reads?: boolean
}

function tool({ style }: Making, parts: Parts): Tool {
  const { words, verb, description, properties, required = [], reads = false } = parts
  const inputSchema = {
    type: 'object',
    properties,
    ...(required.length > 0 ? { required: [...required] } : {}),
  }
  const name = style(words)
  return { name, verb, reads, declaration: { type: 'function', name, description, inputSchema } }
}

function listTool(making: Making, { noun, plural, trait, choices }: Words): Tool {
  const { random } = making
  const properties: JsonObject = {
    limit: { type: 'integer', minimum: 1, maximum: 100, description: 'How many at most' },
    ...(random.chance(0.5) ? { [trait]: { type: 'string', enum: [...choices] } } : {}),
  }
  const odd = random.word()
  const [words, verb, description] = random.pick<readonly [readonly string[], string, string]>([
    [['list', plural], 'list', `Lists all ${plural}.`],
    [['get', 'all', plural], 'list', `Returns every ${noun} there is.`],
    [[plural, 'list'], 'list', ''],
    [['list', plural], 'list', `The ${plural} of the account, newest first`],
    [[odd, plural], odd, `Lists the ${plural}.`],
  ])
  return tool(making, { words, verb, description, properties, reads: true })
}

function createTool(making: Making, { noun, flag, amount, trait, choices }: Words): Tool {
  const { random, param } = making
  const verb = random.pick(['create', 'add', random.word()])
  const amountName = random.chance(0.5) ? amount : param(['max', amount])
  return tool(making, {
    words: random.pick([
      [verb, noun],
      [noun, verb],
      [verb, 'new', noun],
    ]),
    verb,
    description: random.pick([
      `${capital(verb)}s a ${noun}.`,
      `${capital(verb)} a new ${noun} in the system`,
    ]),
    properties: {
      name: { type: 'string', minLength: 1, description: `What the ${noun} is called` },
      [amountName]: { type: 'number', description: `The ${amount} of the ${noun}` },
      [trait]: { type: 'string', enum: [...choices], description: `Which ${trait}` },
      [flag]: { type: 'boolean' },
      start: { type: 'string', format: 'date' },
      contact: { type: 'string', format: 'email' },
      tags: { type: 'array', items: { type: 'string' } },
    },
    required: ['name', amountName],
  })
}

function idParam({ random }: Making, { noun, idName }: Words): JsonObject {
  const about = random.pick([`The id of the ${noun}`, `Which ${noun}`, ''])
  return { [idName]: { type: ['string', 'number'], ...(about === '' ? {} : { description: about }) } }
}

function actTool(making: Making, words: Words): Tool {
  const verb = making.random.word()
  return tool(making, {
    words: making.random.pick([
      [verb, words.noun],
      [words.noun, verb],
    ]),
    verb,
    description: making.random.pick([
      `${capital(verb)}s a ${words.noun}.`,
      `${capital(verb)} one ${words.noun} for good.`,
    ]),
    properties: { ...idParam(making, words), reason: { type: 'string' } },
    required: [words.idName],
  })
}

function tuneTool(making: Making, words: Words): Tool {
  const verb = making.random.word()
  return tool(making, {
    words: [verb, words.noun],
    verb,
    description: `${capital(verb)}s the ${words.amount} of a ${words.noun}.`,
    properties: { ...idParam(making, words), [words.amount]: { type: 'integer', minimum: 0 } },
    required: [words.idName, words.amount],
  })
}

function getTool(making: Making, words: Words): Tool {
  const { random } = making
  const verb = random.pick(['get', 'fetch', 'read'])
  return tool(making, {
    words: random.pick([
      [verb, words.noun],
      [verb, words.noun, 'by', 'id'],
    ]),
    verb,
    description: `${capital(verb)}s one ${words.noun} with its details.`,
    properties: idParam(making, words),
    required: [words.idName],
    reads: true,
  })
}

function searchTool(making: Making, { plural }: Words): Tool {
  const verb = making.random.pick(['search', 'find'])
  return tool(making, {
    words: [verb, plural],
    verb,
    description: `${capital(verb)} ${plural} by text.`,
    properties: { query: { type: 'string', description: 'What to look for' } },
    required: ['query'],
    reads: true,
  })
}

/** Two tools whose names differ in a word that nobody says. */
function makeTwins(making: Making, { noun }: Kind): ToolSet['twins'] & { declarations: ToolDeclaration[] } {
  const verb = making.random.word()
  const [one, other] = [making.random.word(), making.random.word()].map((odd) => {
    return tool(making, {
      words: [verb, noun, odd],
      verb,
      description: `${capital(verb)}s the ${noun} ${odd}.`,
      properties: {},
    })
  }) as [Tool, Tool]
  return { verb, noun, names: [one.name, other.name], declarations: [one.declaration, other.declaration] }
}

function answerOf(kinds: readonly Kind[], name: string, args: JsonObject): Json {
  for (const { list, search, get, plural, things } of kinds) {
    if (name === list.name) return things.length % 2 === 0 ? [...things] : { [plural]: [...things] }
    if (name === search?.name) {
      const query = JSON.stringify(args['query'] ?? '')
        .slice(1, -1)
        .toLowerCase()
      return things.filter(
        (thing) => thing.name.toLowerCase().includes(query) || query.includes(thing.name.toLowerCase()),
      )
    }
    if (name === get.name)
      return (
        things.find(({ id }) => Object.values(args).some((value) => value === id || value === String(id))) ??
        null
      )
  }
  return { ok: true }
}

function makePart(making: Making, owner: Kind): Part {
  const { random, param } = making
  const noun = random.word()
  const plural = `${noun}s`
  const ids = { part: param([noun, 'id']), owner: param([owner.noun, 'id']) }
  const ownerId = {
    [ids.owner]: { type: ['string', 'number'], description: `The ${owner.noun} it belongs to` },
  }
  const [make, move] = [random.pick(['create', 'add', random.word()]), random.word()]
  return {
    noun,
    plural,
    owner,
    ids,
    list: tool(making, {
      words: ['list', plural],
      verb: 'list',
      description: `Lists the ${plural} of a ${owner.noun}.`,
      properties: ownerId,
      required: [ids.owner],
      reads: true,
    }),
    create: tool(making, {
      words: [make, noun],
      verb: make,
      description: `${capital(make)}s a ${noun} in a ${owner.noun}.`,
      properties: { ...ownerId, title: { type: 'string' }, urgent: { type: 'boolean' } },
      required: [ids.owner, 'title'],
    }),
    move: tool(making, {
      words: [move, noun],
      verb: move,
      description: `${capital(move)}s a ${noun} over to a ${owner.noun}.`,
      properties: { [ids.part]: { type: ['string', 'number'] }, ...ownerId },
      required: [ids.part, ids.owner],
    }),
    things: new Map(owner.things.map(({ id }, at) => [id, partsOf(random, at)])),
  }
}

function ownedBy({ things }: Part, owner: Json | undefined): readonly Thing[] | undefined {
  return [...things].find(([id]) => id === owner || String(id) === owner)?.[1]
}

function partsOf(random: Random, owner: number): Thing[] {
  return Array.from({ length: random.between(1, 3) }, (_, at) => ({
    id: `pt${owner}${at}`,
    name: `${random.name()} ${random.name()}`,
  }))
}
