/** What may be selected, and whose choice it is. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/index.ts'
import { entity } from '../../src/grounding/index.ts'
import type { Selection } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tool/index.ts'
import { calls } from '../turn/kit.ts'

const order = entity('order', {
  pattern: /ord_\d{4}/,
  normalize: (id) => id.toLowerCase(),
})
const desk = () =>
  new Agent({
    contextId: 'desk',
    store: memoryStore(),
    model: ScriptedModel.forever('Ok.'),
    entities: [order],
  })

/** Selects in another conversation from the code of a tool, with an id that its model wrote. */
async function selectInside(other: Agent, selection: Selection, words: string): Promise<unknown> {
  let thrown: unknown
  const pick = defineTool({
    name: 'pick',
    description: 'Picks an order at the desk.',
    input: z.object({}),
    run: async () => {
      await other.select(selection).catch((error: unknown) => {
        thrown = error
      })
    },
  })
  const model = new ScriptedModel([calls('pick'), 'Done.'])
  await new Agent({ contextId: 'front', model, tools: [pick], entities: [order] }).input(words)
  return thrown
}

it.each([
  ['an entity that the agent does not have', entity('task').select('1'), /"task" is none of the agent's ent/],
  ['an id off the pattern', order.select('nope'), /"nope" does not fit the `pattern` of "order"/],
  ['one id of several off the pattern', order.select(['ord_1001', 'bad']), /"bad" does not fit/],
])('%s is not selected', async (_, selection, message) => {
  const agent = desk()
  await expect(agent.select(selection)).rejects.toMatchObject({
    code: 'invalid-option',
    message: expect.stringMatching(message),
  })
  expect(agent.active).toEqual([])
})

it('a program may select any id that fits, in any of its forms, and let go of it', async () => {
  const agent = desk()
  expect(await agent.select(order.select('ORD_1001'))).toMatchObject([{ id: 'ORD_1001', by: 'program' }])
  expect(await agent.select(order.select())).toEqual([])
})

it('the code of a tool cannot select an id that nobody knows', async () => {
  const other = desk()
  const selection = order.select('ord_6666', { by: 'person' })
  expect(await selectInside(other, selection, 'Pick one')).toMatchObject({ code: 'invalid-option' })
  expect(other.active).toEqual([])
})

it('the code of a tool can select what is known where it runs or where it selects, and the choice is a tool’s', async () => {
  const said = desk()
  expect(await selectInside(said, order.select('ord_6666', { by: 'person' }), 'Pick ord_6666')).toBe(
    undefined,
  )
  const heard = desk()
  await heard.input('My order is ord_6666')
  expect(await selectInside(heard, order.select('ord_6666'), 'Pick one')).toBe(undefined)
  expect([said.active, heard.active]).toMatchObject([[{ id: 'ord_6666', by: 'tool' }], [{ by: 'tool' }]])
})
