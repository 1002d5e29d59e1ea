/**
 * Runs inside a project that has installed the packed package, with --enable-source-maps: uses its entries side by side,
 * as they share classes and state, and prints the stacks of the errors that they threw, as JSON.
 */
import assert from 'node:assert/strict'
import { Agent, HoldfastError } from 'holdfast'
import { agentNode, END, graph, START, value } from 'holdfast/graph'
import { otel } from 'holdfast/otel'
import { sqliteStore } from 'holdfast/sqlite'
import { ScriptedModel } from 'holdfast/testing'

function stackOf(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    assert.ok(error instanceof HoldfastError, `not the HoldfastError of the root entry: ${String(error)}`)
    return error.stack ?? ''
  }
  return assert.fail('nothing was thrown')
}

const flow = graph({ state: { answer: value<string>() } })
  .addNode('ask', agentNode({ model: new ScriptedModel(['42']) }), {
    input: () => 'How many?',
    output: (answer) => ({ answer }),
  })
  .addEdge(START, 'ask')
  .addEdge('ask', END)
const done = await flow.compile().invoke({})
assert.equal(done.state.answer, '42')

const stacks = [
  stackOf(() => new Agent({ contextId: '', model: 'reflex' })),
  stackOf(() => sqliteStore('.')),
  // No peer of the package is installed here.
  stackOf(() => otel()),
  stackOf(() => graph({ state: { answer: value<string>() } }).compile()),
]
console.log(JSON.stringify(stacks))
