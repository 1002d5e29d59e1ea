/**
 * Structured output: an agent that looks things up and ends with typed data. Its first attempt is no JSON and goes back to
 * the model; the outcome has the corrected one, also for a process that reads it later. Then one question without an agent.
 */
import { Agent, defineTool, llmDo, memoryStore } from 'holdfast'
import { ScriptedModel } from 'holdfast/testing'
import { z } from 'zod'

const invoices = defineTool({
  name: 'invoices',
  description: 'Lists the open invoices of a customer.',
  input: z.object({ customer: z.string() }),
  replay: 'safe',
  run: ({ customer }) => [
    { customer, number: 17, euros: 120 },
    { customer, number: 21, euros: 80 },
  ],
})

const Debt = z.object({ customer: z.string(), euros: z.number(), invoices: z.array(z.number()) })

const store = memoryStore()
const agent = new Agent({
  contextId: 'debts',
  store,
  tools: [invoices],
  output: Debt,
  model: new ScriptedModel([
    { calls: [{ tool: 'invoices', args: { customer: 'Meier' } }] },
    'Meier owes 200 euros.',
    '{"customer":"Meier","euros":200,"invoices":[17,21]}',
  ]),
})

const turn = agent.executeTurn('How much does Meier owe us?')
for await (const event of turn) if (event.type === 'note') console.log(`returned: ${event.data.text}`)
const { output, usage } = await turn.outcome
if (output === undefined) throw new Error('The turn has no output.')
console.log(`${output.customer} owes ${output.euros} euros in ${output.invoices.length} invoices`)
console.log(`${usage.inputTokens + usage.outputTokens > 0 ? 'with' : 'without'} usage`)

const later = new Agent({ contextId: 'debts', store })
console.log((await (await later.lastTurn())?.outcome)?.output)

const tone = await llmDo(`Write to ${output.customer}: friendly or firm?`, {
  model: new ScriptedModel(['"friendly"']),
  schema: z.enum(['friendly', 'firm']),
})
console.log(tone.output)
