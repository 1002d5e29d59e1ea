/**
 * A position refers to the list that the person had seen; if a list of the same turn could be meant too, the person is
 * asked.
 */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { entity } from '../../src/grounding/index.ts'
import type { ScriptedStep } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tool/index.ts'
import { bench, calls, gate, KEY, until } from '../turn/kit.ts'

const order = entity('order', { pattern: /ord_\d+/ })

function shop(script: readonly ScriptedStep[]) {
  const cancelled: string[] = []
  const held = gate()
  const begun = gate()
  const list = (name: string, ids: readonly string[], isHeld = false) =>
    defineTool({
      name,
      description: 'Lists orders.',
      input: z.object({}),
      run: async () => {
        begun.resolve()
        if (isHeld) await held.promise
        return ids
      },
      returns: (rows) => order.rows(rows, { id: '$value' }),
    })
  const cancel = defineTool({
    name: 'cancel',
    description: 'Cancels an order.',
    input: z.object({ orderId: z.string().meta(order.id()) }),
    run: ({ orderId }) => void cancelled.push(orderId),
  })
  const tools = [
    list('open', ['ord_1', 'ord_2']),
    list('closed', ['ord_11', 'ord_12']),
    list('one', ['ord_21']),
    list('slow', ['ord_11', 'ord_12'], true),
    cancel,
  ]
  return { cancelled, held, begun, ...bench({ script, tools, entities: [order] }) }
}

const cancelPlace = (place: string) => calls(['cancel', { orderId: place }])

it.each(['the second one', '2', 'order 2'])(
  '%s after a list and before another is asked about',
  async (place) => {
    const script = [calls('open'), 'There.', calls('closed'), cancelPlace(place), 'Done.']
    const { agent, cancelled } = shop(script)
    await agent.input('My orders')
    const { requests } = await agent.executeTurn('Cancel the second order').outcome
    expect(cancelled).toEqual([])
    expect(requests[0]?.options).toEqual(['ord_2', 'ord_12'])
    await agent.answer({ [requests[0]?.requestId ?? '']: 'ord_2' }).outcome
    expect(cancelled).toEqual(['ord_2'])
  },
)

it('a place is that of the list before if the list of this turn has no such place, or the same thing there', async () => {
  const shorter = shop([calls('open'), 'There.', calls('one'), cancelPlace('the second one'), 'Done.'])
  await shorter.agent.input('My orders')
  await shorter.agent.input('Cancel the second one')
  expect(shorter.cancelled).toEqual(['ord_2'])
  const same = shop([calls('open'), 'There.', calls('open'), cancelPlace('the second one'), 'Done.'])
  await same.agent.input('My orders')
  await same.agent.input('Cancel the second one')
  expect(same.cancelled).toEqual(['ord_2'])
})

it('a place in the only list is one in that, though it was shown after the words', async () => {
  const { agent, cancelled } = shop([calls('open'), cancelPlace('the second one'), 'Done.'])
  await agent.input('List my orders and cancel the second one')
  expect(cancelled).toEqual(['ord_2'])
})

it('a place that the person says while the turn runs is one in the list that was there by then', async () => {
  const { agent, store, cancelled, held, begun } = shop([
    calls('open'),
    'There.',
    calls('closed'),
    calls('slow'),
    cancelPlace('the second one'),
    'Done.',
  ])
  await agent.input('My orders')
  const turn = agent.executeTurn('And the closed ones')
  await begun.promise
  for await (const event of turn) if (event.type === 'tool.start' && event.data.tool === 'slow') break
  agent.executeTurn('Cancel the second one', { whileBusy: 'steer' })
  const inputs = async () => (await store.read(KEY)).filter(({ type }) => type === 'input')
  await until('the words are posted', async () => (await inputs()).length === 3)
  held.resolve()
  await turn.outcome
  expect(cancelled).toEqual(['ord_12'])
})

it('the thing in a place of the list before is spoken of, whatever is chosen and shown since', async () => {
  const script = [calls('open'), 'There.', calls('closed'), cancelPlace('ord_2'), 'Done.']
  const { agent, cancelled } = shop(script)
  await agent.input('My orders')
  await agent.select(order.select('ord_1'))
  await agent.input('Cancel the second one')
  expect(cancelled).toEqual(['ord_2'])
})
