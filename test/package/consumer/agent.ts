/** A stranger's agent on the installed package: a tool, an approval, an answer from another object, all in a file. */
import assert from 'node:assert/strict'
import { Agent, agentTool, defineTool, jsonSchema, llmDo } from 'holdfast'
import { sqliteStore } from 'holdfast/sqlite'
import { ScriptedModel } from 'holdfast/testing'

const store = sqliteStore('agent.db')
const paid: number[] = []
const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  input: jsonSchema<{ euros: number }>({
    type: 'object',
    properties: { euros: { type: 'number' } },
    required: ['euros'],
  }),
  approve: 'always',
  run: ({ euros }) => {
    paid.push(euros)
    return 'paid'
  },
})
const helper = agentTool({
  name: 'helper',
  description: 'Helps',
  agent: {
    model: new ScriptedModel([{ calls: [{ tool: 'pay', args: { euros: 5 } }] }, 'Paid 5.']),
    tools: [pay],
  },
})
const model = new ScriptedModel([{ calls: [{ tool: 'helper', args: { message: 'Pay 5' } }] }, 'All paid.'])
const open = () => new Agent({ contextId: 'stranger', store, model, tools: [helper] })

const turn = open().executeTurn('Pay, please')
let last = 0
for await (const { seq } of turn) last = seq ?? last
assert.ok(last > 0)
const first = await turn.outcome
assert.equal(first.reason, 'input-required')
assert.deepEqual(paid, [])
const [request] = first.requests
assert.ok(request)
const second = await open().answer({ [request.requestId]: true }).outcome
assert.equal(second.reason, 'stop')
assert.equal(second.text, 'All paid.')
assert.deepEqual(paid, [5])
const place = jsonSchema<{ city: string }>({ type: 'object', required: ['city'] })
const typed = new Agent({ contextId: 'typed', model: new ScriptedModel(['{"city":"Oslo"}']), output: place })
const { output } = await typed.executeTurn('Where?').outcome
const city: string | undefined = output?.city
const asked = await llmDo('Where?', { model: new ScriptedModel(['{"city":"Oslo"}']), schema: place })
const again: string = asked.output.city
assert.deepEqual([city, again], ['Oslo', 'Oslo'])
await store.close()
console.log(`${second.turn} turns on Node ${process.version}`)
