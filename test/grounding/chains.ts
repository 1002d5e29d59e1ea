/**
 * Generated chains of agents, graphs and tools that run agents, one below the other: at the bottom a marked tool is called
 * with an id that every level has received, and that the top knows or does not know.
 */
import { z } from 'zod'
import { Agent, agentNode, agentTool } from '../../src/agent/index.ts'
import { END, graph, START, value } from '../../src/graph/index.ts'
import { entity } from '../../src/grounding/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel, type ScriptedStep } from '../../src/testing/index.ts'
import { defineTool, type Tool } from '../../src/tool/index.ts'
import { Random } from '../reflex/random.ts'

const order = entity('order', { pattern: /ord_\d{3}/ })
const entities = [order]

const KNOWN = ['said', 'shown', 'chosen'] as const
const UNKNOWN = ['nothing', 'another said', 'another shown', 'said by a model'] as const
const LINKS = ['agentTool', 'agent of a tool', 'graph of a tool', 'graph in a graph'] as const

export interface ChainResult {
  readonly known: string
  readonly links: readonly string[]
  readonly wanted: readonly string[]
  readonly got: readonly string[]
}

/** The seed decides everything. */
export async function tryChain(seed: number): Promise<ChainResult> {
  const random = new Random(seed)
  const id = `ord_${random.between(100, 999)}`
  const known = random.pick(random.chance(0.5) ? [...KNOWN] : [...UNKNOWN])
  const links = Array.from({ length: random.between(1, 3) }, () => random.pick([...LINKS]))
  const got: string[] = []
  const cancel = defineTool({
    name: 'cancel',
    description: 'Cancels an order.',
    input: z.object({ orderId: z.string().meta(order.id()) }),
    run: ({ orderId }) => void got.push(orderId),
  })
  const bottom: Level = { tool: cancel, step: call('cancel', { orderId: id }) }
  const { tool, step } = links.reduce((level, link) => linked(link, level, id), bottom)
  const shownId = known === 'another shown' ? 'ord_000' : id
  const list = defineTool({
    name: 'list',
    description: 'Lists orders.',
    input: z.object({}),
    run: () => [shownId],
    returns: (rows) => order.rows(rows, { id: (row) => row }),
  })
  const isListed = known === 'shown' || known === 'another shown'
  const model = new ScriptedModel([
    ...(isListed ? [call('list', {})] : []),
    ...(known === 'said by a model' ? [`I shall cancel ${id}.`] : []),
    step,
    'Done.',
  ])
  const agent = new Agent({ contextId: 'top', store: memoryStore(), model, tools: [tool, list], entities })
  if (known === 'chosen') await agent.select(order.select(id))
  if (known === 'said by a model') await agent.input('What will you do?')
  await agent.input(WORDS[known]?.(id) ?? 'Cancel my last order')
  const wanted = (KNOWN as readonly string[]).includes(known) ? [id] : []
  return { known, links, wanted, got }
}

const WORDS: Readonly<Record<string, (id: string) => string>> = {
  said: (id) => `Please cancel ${id} today`,
  'another said': () => 'Please cancel ord_000 today',
}

interface Level {
  readonly tool: Tool
  readonly step: ScriptedStep
}

/** A tool that runs an agent which makes the call of the level below. */
function linked(link: (typeof LINKS)[number], { tool, step }: Level, id: string): Level {
  const agent = { model: new ScriptedModel([step, 'Done.']), tools: [tool], entities }
  const passed = call('sub', { message: `cancel ${id}` })
  if (link === 'agentTool')
    return { tool: agentTool({ name: 'sub', description: 'Does it.', agent }), step: passed }
  const run = async ({ message }: { readonly message: string }): Promise<string> => {
    if (link === 'agent of a tool') return new Agent({ contextId: 'other', ...agent }).input(message)
    const inner = act(agent)
    const flow = link === 'graph in a graph' ? around(inner) : inner
    return (await flow.invoke({ words: message })).status
  }
  const input = z.object({ message: z.string() })
  return { tool: defineTool({ name: 'sub', description: 'Does it.', input, run }), step: passed }
}

function call(tool: string, args: Record<string, string>): ScriptedStep {
  return { calls: [{ tool, args }] }
}

const state = { words: value<string>(), answer: value<string>() }

function act(agent: Parameters<typeof agentNode>[0]) {
  return graph({ name: 'act', state })
    .addNode('rewrite', ({ words }) => ({ words: `Now ${words ?? ''}` }))
    .addNode('agent', agentNode(agent), {
      input: ({ words }) => words ?? 'Cancel it',
      output: (answer) => ({ answer }),
    })
    .addEdge(START, 'rewrite')
    .addEdge('rewrite', 'agent')
    .addEdge('agent', END)
    .compile()
}

function around(inner: ReturnType<typeof act>) {
  return graph({ name: 'around', state })
    .addNode('inner', inner)
    .addEdge(START, 'inner')
    .addEdge('inner', END)
    .compile()
}
