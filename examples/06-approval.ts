/**
 * A call that needs approval. The turn ends to wait and holds nothing in memory; another Agent object answers, which
 * might be another process tomorrow.
 */
import { Agent, type AgentConfig, defineTool } from 'holdfast'
import { sqliteStore } from 'holdfast/sqlite'
import { ScriptedModel } from 'holdfast/testing'
import { z } from 'zod'

const pay = defineTool({
  name: 'pay',
  description: 'Pays an invoice.',
  input: z.object({ to: z.string(), euros: z.number() }),
  approve: ({ input }) => (input.euros > 100 ? `Pay ${input.euros} euros to ${input.to}?` : false),
  run: ({ to, euros }, { idempotencyKey }) => {
    console.log(`  paid ${euros} to ${to}, key ${idempotencyKey.slice(0, 5)}…`)
    return { paid: euros }
  },
})

const payments = [
  { tool: 'pay', args: { to: 'Post', euros: 20 } },
  { tool: 'pay', args: { to: 'Bakery', euros: 900 } },
]
const model = new ScriptedModel([
  { text: 'I will pay both.', calls: payments },
  'The post is paid, and the bakery too.',
  { calls: [{ tool: 'pay', args: { to: 'Casino', euros: 5000 } }] },
  'Then I will not.',
])
const config: AgentConfig = { contextId: 'invoices', tools: [pay], model }

const asking = new Agent({ ...config, store: sqliteStore('pay.db') })
const asked = await asking.executeTurn('Pay the post and the bakery').outcome
console.log(
  asked.status,
  asked.requests.map(({ prompt }) => prompt),
)
await asking.shutdown()
await asking.store.close()

const answering = new Agent({ ...config, store: sqliteStore('pay.db') })
const [request] = await answering.requests()
const id = request?.requestId ?? ''
const wrong = await answering.answer({ [id]: 'sure' }).outcome
console.log('"sure":', wrong.error?.code)
const paid = await answering.answer({ [id]: true }).outcome
console.log(`turn ${paid.turn}: ${paid.text}`)

const again = await answering.executeTurn('And 5000 to the casino').outcome
const no = { approved: false, reason: 'Not from this account' }
const refused = await answering.answer({ [again.requests[0]?.requestId ?? '']: no }).outcome
console.log(`turn ${refused.turn}: ${refused.text}`)
const results = (await answering.getMessages()).flatMap(({ role, content }) =>
  role === 'tool' ? content : [],
)
console.log(results.map(({ status, output }) => `${status}: ${JSON.stringify(output)}`).join('\n'))
await answering.shutdown()
await answering.store.close()
