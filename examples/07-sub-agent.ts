/**
 * An agent as a tool of another. The sub-agent has a journal of its own below its caller's; the caller's turn emits its
 * events with a `path`, and its usage counts for the caller.
 */
import { Agent, agentTool, defineTool, memoryStore } from 'holdfast'
import { ScriptedModel } from 'holdfast/testing'
import { z } from 'zod'

const search = defineTool({
  name: 'search',
  description: 'Searches the library.',
  input: z.object({ words: z.string() }),
  replay: 'safe',
  async *run({ words }) {
    yield { looking: words }
    return { found: ['Holdfasts of kelp, 1998'] }
  },
})

const research = agentTool({
  name: 'research',
  description: 'Looks something up in the library and reports.',
  agent: {
    systemPrompt: 'You are a librarian.',
    tools: [search],
    model: new ScriptedModel(
      [{ calls: [{ tool: 'search', args: { words: 'kelp' } }] }, 'One book: "Holdfasts of kelp".'],
      { name: 'scripted/librarian' },
    ),
  },
})

const store = memoryStore()
const agent = new Agent({
  contextId: 'desk',
  store,
  tools: [research],
  model: new ScriptedModel([
    { calls: [{ tool: 'research', args: { message: 'Find books about kelp' } }] },
    'There is one book about kelp.',
  ]),
})

const turn = agent.executeTurn('What have you got about kelp?')
for await (const { type, path = [] } of turn)
  if (!type.endsWith('.delta')) console.log(`${'    '.repeat(path.length)}${type}`)

const { text, usage } = await turn.outcome
console.log(`\n${text} (${usage.inputTokens + usage.outputTokens} tokens in all)`)
const { heads } = await store.list({ owner: agent.owner, parent: 'desk' })
for (const { key, seq } of heads) console.log(`its own journal: ${key.contextId}, ${seq} entries`)
