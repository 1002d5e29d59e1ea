/**
 * An agent with one tool: two turns of one conversation. The first is streamed, event by event; the second is text in,
 * text out. For a real model, set OPENAI_API_KEY, run `npm install @ai-sdk/openai` and write
 * `model: 'openai/gpt-4.1-mini'`; here the model is scripted.
 */
import { Agent, defineTool } from 'holdfast'
import { ScriptedModel } from 'holdfast/testing'
import { z } from 'zod'

const weather = defineTool({
  name: 'weather',
  description: 'The weather in a city, now.',
  input: z.object({ city: z.string() }),
  replay: 'safe', // it only reads, so a crash may run it again
  run: async ({ city }) => ({ city, celsius: 19, sky: 'clear' }),
  display: ({ city, celsius, sky }) => `${city}: ${celsius} °C, ${sky}`,
})

const model = new ScriptedModel([
  { text: 'Let me look. ', calls: [{ tool: 'weather', args: { city: 'Lisbon' } }] },
  'It is 19 °C and clear in Lisbon.',
  ({ prompt }) => `You asked about Lisbon; I have ${prompt.length} messages to go by.`,
])

const agent = new Agent({
  contextId: 'first-agent',
  model,
  systemPrompt: 'You are brief.',
  tools: [weather],
})
await agent.start()

const turn = agent.executeTurn('What is the weather in Lisbon?')
for await (const event of turn) {
  if (event.type === 'text.delta') process.stdout.write(event.data.text)
  if (event.type === 'tool.start') console.log(`\n  → ${event.data.tool}`, event.data.args)
  if (event.type === 'tool.end') console.log(`  ← ${event.data.display}`)
}

const { status, reason, usage } = await turn.outcome
console.log(`\n${status} (${reason}), ${usage.inputTokens} tokens in, ${usage.outputTokens} out\n`)

console.log(await agent.input('What did I ask you about?'))
console.log(`${agent.state.turnCount} turns, ${(await agent.getMessages()).length} messages`)
await agent.shutdown()
