import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createClient } from '../../../src/client/index.ts'
import { clientTool } from '../../../src/entry/tool.ts'
import { entity } from '../../../src/grounding/index.ts'
import { defineTool, memoryStore } from '../../../src/index.ts'
import { ScriptedModel, type ScriptedStep } from '../../../src/testing/index.ts'
import { open } from './kit.ts'

const locate = clientTool({
  name: 'locate',
  description: 'Where the device is.',
  input: z.object({ exact: z.boolean() }),
  output: z.object({ lat: z.number(), place: z.string() }),
})

const call = (tool: string, args: object): ScriptedStep => ({ calls: [{ tool, args: args as never }] })

async function asked(steps: readonly ScriptedStep[], more: object = {}) {
  const model = new ScriptedModel([...steps])
  const { url } = await open({ store: memoryStore(), agents: { a: { model, tools: [locate], ...more } } })
  const conversation = createClient({ url }).conversation('a:1')
  const outcome = await conversation.ask('Where am I?')
  expect(outcome.status).toBe('input-required')
  const [request] = outcome.requests
  return { conversation, request, id: request?.requestId ?? '', model }
}

describe('a tool that the caller runs', () => {
  test('waits as a request with its arguments, and gets the result that the client sends', async () => {
    const { conversation, request, id, model } = await asked([call('locate', { exact: true }), 'In Lyon.'])
    expect(request).toMatchObject({
      kind: 'data',
      from: 'locate',
      about: { runBy: 'client', tool: 'locate', arguments: { exact: true } },
    })
    await expect(conversation.answer({ [id]: { lat: 'north' } })).rejects.toMatchObject({
      code: 'invalid-answer',
    })
    const outcome = await conversation.answer({ [id]: { lat: 45.7, place: 'Lyon' } })
    expect(outcome).toMatchObject({ status: 'completed', text: 'In Lyon.' })
    expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain('"lat":45.7')
  })

  test('fails with the reason that the client gives', async () => {
    const { conversation, id } = await asked([call('locate', { exact: false }), 'No access.'])
    expect((await conversation.answer({ [id]: { error: 'The person refused.' } })).text).toBe('No access.')
    const trace = JSON.stringify(await conversation.trace())
    expect(trace).toContain('The person refused.')
    expect(trace).toContain('error')
  })

  test('its result does not count as words of the person', async () => {
    const order = entity('order', { pattern: /ord_\d{4}/ })
    const refunded: string[] = []
    const refund = defineTool({
      name: 'refund',
      description: 'Refunds an order.',
      input: z.object({ orderId: z.string().meta(order.id()) }),
      run: ({ orderId }) => refunded.push(orderId),
    })
    const { conversation, id } = await asked(
      [call('locate', { exact: true }), call('refund', { orderId: 'ord_6666' }), 'Sorry.'],
      { tools: [locate, refund], entities: [order] },
    )
    expect((await conversation.answer({ [id]: { lat: 1, place: 'ord_6666' } })).text).toBe('Sorry.')
    expect(refunded).toEqual([])
  })
})
