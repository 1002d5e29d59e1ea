/** "Sub-agents and graphs", "What rows show", and the lookup of the third layer. */
import { z } from 'zod'
import { agentNode, END, graph, START, value } from '../../../src/entry/graph.ts'
import { grounded, lookupTool } from '../../../src/entry/grounding.ts'
import { Agent, agentTool, defineTool, type JsonObject, memoryStore, type Tool } from '../../../src/index.ts'
import { ManualClock, ScriptedModel } from '../../../src/testing/index.ts'
import { type Call, show, Talk } from './conversation.ts'
import { actTool, type Generator, judge, oneId, Trial } from './trial.ts'
import { type Kind, oneKind } from './words.ts'

/** One level: a tool of the caller that runs an agent with `tools`, whose model makes `calls`. */
interface Level {
  readonly way: Way
  readonly kind: Kind
  readonly tools: readonly Tool[]
  readonly calls: readonly Call[]
}

const WAYS = ['agentTool', 'agent in a tool', 'graph in a tool'] as const
type Way = (typeof WAYS)[number]

function levelTool(name: string, { way, kind, tools, calls }: Level): Tool {
  const config = {
    model: () => new ScriptedModel([...calls.map((call) => ({ calls: [call] })), 'Done below.']),
  }
  const agent = { model: config.model(), tools: [...tools], entities: [kind.entity] }
  const description = 'Hands the task on.'
  if (way === 'agentTool') return agentTool({ name, description, agent })
  return defineTool({
    name,
    description,
    input: z.object({ message: z.string() }),
    run: async ({ message }) => {
      if (way === 'agent in a tool') return new Agent({ contextId: `below-${name}`, ...agent }).input(message)
      const flow = graph({ state: { question: value<string>(), answer: value<string>() } })
        .addNode('ask', agentNode(agent), {
          input: (state) => state.question ?? '',
          output: (text) => ({ answer: text }),
        })
        .addEdge(START, 'ask')
        .addEdge('ask', END)
        .compile({ store: memoryStore() })
      const { state } = await flow.invoke({ question: message }, { contextId: `flow-${name}` })
      return state.answer ?? ''
    },
  })
}

/** An id is good below if it is good above; a model's words are never the person's. */
const below: Generator = async (dice) => {
  const kind = oneKind(dice)
  const rows = kind.rows(3)
  const at = dice.int(3)
  const known = dice.pick(['shown', 'said', 'chosen', 'not'] as const)
  const id = String(rows[at]?.id)
  const byLabel = known === 'shown' && dice.chance(0.4)
  const written = byLabel ? String(rows[at]?.name) : id
  const got: unknown[] = []
  let tool = actTool(got, oneId(kind))
  let call: Call = { tool: 'act', args: { id: written } }
  const ways: Way[] = []
  for (let depth = dice.between(1, 2); depth > 0; depth--) {
    const way = dice.pick(WAYS)
    ways.unshift(way)
    tool = levelTool(`down_${depth}`, { way, kind, tools: [tool], calls: [call] })
    call = { tool: `down_${depth}`, args: { message: `Please do it with ${written}.` } }
  }
  const talk = new Talk({ entities: [kind.entity], tools: [tool] })
  if (known === 'shown') await talk.turn('List.', [show({ [kind.name]: rows })])
  if (known === 'chosen') await talk.select(kind.entity.select(id))
  const earlier = dice.chance(0.5)
  if (known === 'said' && earlier) await talk.smallTalk(`There is ${id}.`)
  const end = await talk.turn(known === 'said' && !earlier ? `Take ${id}.` : 'Go on.', [call])
  const wanted = known === 'not' ? 'refuse' : 'run'
  const truth = { way: `${ways.join(' > ')}, ${known} above`, wanted, input: { id } } as const
  // A call refused below ends well above: nothing ran.
  if (got.length === 0 && end.status === 'completed') return refusedBelow(talk, truth)
  return judge({ got, talk, end }, truth)
}

function refusedBelow(
  talk: Talk,
  { way, wanted }: { way: string; wanted: 'run' | 'refuse' },
): ReturnType<Generator> {
  const story = wanted === 'refuse' ? {} : { story: talk.story.join('\n') }
  return Promise.resolve({ way, wanted, got: 'refuse', ...story })
}

/** Sightings below count above afterwards; selections below stay below. */
const upwards: Generator = async (dice) => {
  const kind = oneKind(dice)
  const id = kind.fresh()
  const shows = dice.chance(0.5)
  // Gap: sightings of an `Agent` or a graph that a tool's code runs by itself do not count above.
  const way = shows ? 'agentTool' : dice.pick(WAYS)
  const tools = [showing(kind), choosing(kind)]
  const calls: Call[] = [
    shows ? { tool: 'show_below', args: { id } } : { tool: 'choose_below', args: { id } },
  ]
  const trial = new Trial(dice, {
    entities: [kind.entity],
    input: oneId(kind),
    tools: [levelTool('down', { way, kind, tools, calls })],
  })
  const down: Call = { tool: 'down', args: { message: 'Find one.' } }
  const now = dice.chance(0.5)
  if (!now) await trial.talk.turn('Find one.', [down])
  const end = await trial.act('Go on.', { id }, { before: now ? [down] : [] })
  const wanted = shows ? 'run' : 'refuse'
  return trial.check(end, { way: `${shows ? 'shown' : 'chosen'} below, ${way}`, wanted, input: { id } })
}

function showing(kind: Kind): Tool {
  return defineTool({
    name: 'show_below',
    description: 'Shows one.',
    input: z.object({ id: z.string() }),
    run: ({ id }) => [{ id }],
    returns: (rows) => kind.entity.rows(rows, { id: 'id' }),
  })
}

function choosing(kind: Kind): Tool {
  return defineTool({
    name: 'choose_below',
    description: 'Chooses one.',
    input: z.object({ id: z.string() }),
    run: ({ id }) => ({ id }),
    selects: ({ id }) => [kind.entity.select(id)],
  })
}

/** A graph's input is its caller's word; values that a node derives from it are not, unless it vouches. */
const graphRun: Generator = async (dice) => {
  const kind = oneKind(dice)
  const id = kind.fresh()
  const way = dice.pick(['given', 'made by a node', 'vouched for', 'shown by the agent before'] as const)
  const got: unknown[] = []
  const model = new ScriptedModel([{ calls: [{ tool: 'act', args: { id } }] }, 'Done.'])
  const agent = agentNode({ model, tools: [actTool(got, oneId(kind))], entities: [kind.entity] })
  const finds = way === 'shown by the agent before' ? [{ calls: [{ tool: 'show_below', args: { id } }] }] : []
  const finder = agentNode({
    model: new ScriptedModel([...finds, 'Done.']),
    tools: [showing(kind)],
    entities: [kind.entity],
  })
  const flow = graph({ state: { question: value<string>(), answer: value<string>() } })
    .addNode('prepare', ({ question = '' }, context) => {
      if (way === 'vouched for') context.vouch(kind.entity.rows([{ id }], { id: 'id' }))
      return { question: way === 'given' ? question : `Do it with ${id}.` }
    })
    .addNode('find', finder, { input: () => 'Find one.', output: () => ({}) })
    .addNode('ask', agent, { input: (state) => state.question ?? '', output: (text) => ({ answer: text }) })
    .addEdge(START, 'prepare')
    .addEdge('prepare', 'find')
    .addEdge('find', 'ask')
    .addEdge('ask', END)
    .compile({ store: memoryStore() })
  await flow.invoke({ question: way === 'given' ? `Do it with ${id}.` : 'Do it.' }, { contextId: 'run' })
  const wanted = way === 'made by a node' ? 'refuse' : 'run'
  const seen = got.length === 0 ? 'refuse' : 'run'
  return { way: `graph, ${way}`, wanted, got: seen, ...(seen === wanted ? {} : { story: `${way} ${id}` }) }
}

interface Shape {
  readonly name: string
  readonly output: (id: string, other: string) => unknown
  readonly fields: {
    readonly id: string | readonly string[]
    readonly label?: string
    readonly matches?: true
  }
  readonly at: string
}

const SHAPES: readonly Shape[] = [
  { name: 'rows', output: (id, other) => [{ id: other }, { id }], fields: { id: 'id' }, at: '[]' },
  {
    name: 'rows at a place',
    output: (id, other) => ({ all: [{ id: other }, { id }] }),
    fields: { id: 'id' },
    at: 'all[]',
  },
  {
    name: 'a path',
    output: (id, other) => [{ by: { id: other } }, { by: { id } }],
    fields: { id: 'by.id' },
    at: '[]',
  },
  { name: 'values', output: (id, other) => [other, id], fields: { id: '$value' }, at: '[]' },
  { name: 'a text', output: (id) => id, fields: { id: '$value' }, at: '' },
  {
    name: 'keys',
    output: (id, other) => ({ [other]: { n: 1 }, [id]: { n: 2 } }),
    fields: { id: '$key' },
    at: '*',
  },
  {
    name: 'matches',
    output: (id, other) => `There are ${other} and ${id}.`,
    fields: { id: '$value', matches: true },
    at: '',
  },
  { name: 'input', output: () => ({ fine: true }), fields: { id: '$input.wanted' }, at: '' },
]

/** A result shows only what its mapping declares. */
const rowShapes: Generator = async (dice) => {
  const kind = oneKind(dice)
  const shape = dice.pick(SHAPES)
  const [id, other, hidden] = [kind.fresh(), kind.fresh(), kind.fresh()]
  const output = shape.output(id, other)
  const fields = shape.fields as { id: string }
  const outside = dice.chance(0.5)
  const own = {
    returns: (found: unknown, input: JsonObject) => {
      const rows = shape.at.startsWith('all') ? (found as { all: unknown }).all : found
      return kind.entity.rows(rows as readonly unknown[], fields, input)
    },
  }
  const open = typeof output === 'object' && !Array.isArray(output) && shape.name !== 'keys'
  const plain = defineTool({
    name: 'find',
    description: 'Finds some.',
    input: z.object({ wanted: z.string() }),
    run: () => (open ? { ...output, hidden } : output),
    ...(outside ? {} : own),
  })
  const find = outside
    ? grounded(plain, { returns: { [shape.at]: { entity: kind.entity, ...fields } } })
    : plain
  const trial = new Trial(dice, { entities: [kind.entity], input: oneId(kind), tools: [find] })
  await trial.talk.turn('Find.', [{ tool: 'find', args: { wanted: id } }])
  await trial.noise(1)
  const good = dice.chance(0.6)
  const given = good ? id : hidden
  const way = `rows: ${shape.name}${outside ? ', grounded' : ''}, ${good ? 'shown' : 'beside them'}`
  return trial.check(await trial.act('Go on.', { id: given }), {
    way,
    wanted: good ? 'run' : 'refuse',
    input: { id: given },
  })
}

/** A lookup shows its matches; with `select`, one exact match is selected, and the refusal names the tool. */
const lookup: Generator = async (dice) => {
  const kind = oneKind(dice)
  const rows = kind.rows(4)
  const find = lookupTool(kind.entity, () => rows, { fields: { id: 'id', label: 'name' }, select: true })
  const trial = new Trial(dice, { entities: [kind.entity], input: oneId(kind), tools: [find] })
  const row = dice.pick(rows)
  const way = dice.pick(['found', 'case and accents', 'not looked up'] as const)
  const name = String(row.name)
  const bare = name.toLowerCase().normalize('NFD').replaceAll(/\p{M}/gu, '').replaceAll('ø', 'o')
  const before: Call[] = [{ tool: find.name, args: { name: way === 'found' ? name : bare } }]
  const id = String(row.id)
  const end = await trial.act('Go on.', { id }, { before: way === 'not looked up' ? [] : before })
  const checked = await trial.check(end, {
    way: `lookup, ${way}`,
    wanted: way === 'not looked up' ? 'refuse' : 'run',
    input: { id },
  })
  if (way === 'not looked up' && (end.refusal?.next.do !== 'lookup' || end.refusal.next.tool !== find.name))
    return {
      ...checked,
      got: `next ${JSON.stringify(end.refusal?.next)}`,
      story: trial.talk.story.join('\n'),
    }
  return checked
}

/** Codes: the prompt's code stands for the id; an invented one for nothing. */
const codes: Generator = async (dice) => {
  const kind = oneKind(dice)
  const rows = kind.rows(3)
  const at = dice.int(3)
  const good = dice.chance(0.5)
  const got: unknown[] = []
  const clock = new ManualClock()
  let prompts = ''
  const listed = defineTool({
    name: 'list',
    description: 'Lists.',
    input: z.object({}),
    run: () => rows,
    returns: (found) => kind.entity.rows(found, { id: 'id', label: 'name' }),
  })
  const model = new ScriptedModel([
    { calls: [{ tool: 'list', args: {} }] },
    ({ prompt }) => {
      prompts = JSON.stringify(prompt)
      const found = [...new Set([...prompts.matchAll(/[a-z]+~[a-z0-9]+/gi)].map(([code]) => code))]
      const code = found[at] ?? 'none'
      return {
        calls: [
          {
            tool: 'act',
            args: { id: good ? code : `${code.slice(0, -1)}${code.endsWith('z') ? 'y' : 'z'}` },
          },
        ],
      }
    },
    'Done.',
  ])
  const store = memoryStore({ clock })
  const tools = [listed, actTool(got, oneId(kind))]
  const agent = new Agent({
    contextId: 'codes',
    store,
    clock,
    model,
    tools,
    entities: [kind.entity],
    grounding: { handles: true },
  })
  await agent.executeTurn('List and do it.').outcome
  const id = String(rows[at]?.id)
  const seen =
    got.length === 0
      ? 'refuse'
      : JSON.stringify(got[0]) === JSON.stringify({ id })
        ? 'run'
        : `run with ${JSON.stringify(got[0])}`
  const wanted = good ? 'run' : 'refuse'
  return {
    way: `a code, ${good ? 'as shown' : 'miscopied'}`,
    wanted,
    got: seen,
    ...(seen === wanted ? {} : { story: `${id} ${prompts}` }),
  }
}

export const BELOW: readonly Generator[] = [below, below, upwards, graphRun, rowShapes, lookup, codes]
