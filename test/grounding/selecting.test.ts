/** Valid selections, and their authors. */
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
  const personMessages = desk()
  await personMessages.input('My order is ord_6666')
  expect(await selectInside(personMessages, order.select('ord_6666'), 'Pick one')).toBe(undefined)
  expect([said.active, personMessages.active]).toMatchObject([
    [{ id: 'ord_6666', by: 'tool' }],
    [{ by: 'tool' }],
  ])
})

it('an id that tools have shown as one of another kind is not selected, where no pattern tells them apart', async () => {
  const room = entity('room')
  const lamp = entity('lamp')
  const list = defineTool({
    name: 'list',
    description: 'Lists lamps.',
    input: z.object({}),
    run: () => [{ id: 'x-1' }, { id: 'x-2' }],
    returns: (rows) => [...lamp.rows(rows, { id: 'id' }), ...room.rows([{ id: 'x-2' }], { id: 'id' })],
  })
  const model = new ScriptedModel([calls('list'), 'Done.'])
  const agent = new Agent({ contextId: 'house', model, tools: [list], entities: [room, lamp] })
  await agent.input('List')
  await expect(agent.select(room.select('x-1'))).rejects.toThrow(
    'Nothing was selected: a tool has shown "x-1" as the id of "lamp", not of "room".',
  )
  await agent.select(room.select('x-2'))
  await agent.select(room.select('x-3'), lamp.select('x-1'))
  expect(agent.active.map(({ id }) => id)).toEqual(['x-3', 'x-1'])
})

it('a choice is forgotten when the conversation is cleared; one that is the person’s is not', async () => {
  const mine = entity('mine', { scope: 'actor' })
  const used: string[] = []
  const use = defineTool({
    name: 'use',
    description: 'Uses things.',
    input: z.object({
      id: z.string().meta(order.id()).optional(),
      own: z.string().meta(mine.id()).optional(),
    }),
    run: ({ id, own }) => void used.push(id ?? own ?? ''),
  })
  const model = new ScriptedModel([
    calls(['use', { id: 'ord_1111' }]),
    'Done.',
    calls(['use', { id: 'ord_1111' }]),
    calls(['use', { own: 'm-1' }]),
    'Done.',
  ])
  const agent = new Agent({ contextId: 'desk', model, tools: [use], entities: [order, mine] })
  await agent.select(order.select('ord_1111'), mine.select('m-1'))
  await agent.input('Use it')
  await agent.clear()
  expect(agent.active.map(({ id }) => id)).toEqual(['m-1'])
  await agent.input('Use both')
  expect(used).toEqual(['ord_1111', 'm-1'])
  expect(agent.active.map(({ id }) => id)).toEqual(['m-1'])
})
