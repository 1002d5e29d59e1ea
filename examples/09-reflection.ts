/**
 * Reflection: after every round of tools a second, cheaper model summarises the results, and the agent continues with
 * that. A note of a hook never comes between a call and its result, so no provider refuses the conversation.
 */
import { Agent, defineTool, llmDo } from 'holdfast'
import type { Plugin } from 'holdfast/plugins'
import { ScriptedModel } from 'holdfast/testing'
import { z } from 'zod'

/** Any model; here a scripted one. */
const critic = new ScriptedModel(['The pump was replaced in May, so it is not the pump.', 'It is the valve.'])

function reflect(): Plugin {
  return {
    name: 'reflect',
    prompt: 'Lines that begin with "Observation:" are your own thoughts.',
    on: {
      afterTools: async ({ results, add, signal }) => {
        const seen = results.map(({ tool, output }) => `${tool}: ${JSON.stringify(output)}`).join('\n')
        const message = `What did we learn from this? One sentence.\n${seen}`
        const { text } = await llmDo(message, { model: critic, signal })
        add(`Observation: ${text}`)
      },
    },
  }
}

const history = defineTool({
  name: 'history',
  description: 'What was done to a part.',
  input: z.object({ part: z.string() }),
  replay: 'safe',
  run: ({ part }) => (part === 'pump' ? [{ may: 'replaced' }] : [{ april: 'leaking' }]),
})

const agent = new Agent({
  contextId: 'boiler',
  tools: [history],
  plugins: [reflect()],
  model: new ScriptedModel([
    { calls: [{ tool: 'history', args: { part: 'pump' } }] },
    { calls: [{ tool: 'history', args: { part: 'valve' } }] },
    'Replace the valve.',
  ]),
})

console.log(await agent.input('Why is the boiler cold?'))
for (const { role, content } of await agent.getMessages())
  console.log(role.padEnd(10), typeof content === 'string' ? content : JSON.stringify(content).slice(0, 90))
