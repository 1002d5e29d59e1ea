/** Values of untyped programs: they fail a call or cause a warning, never break a conversation. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/index.ts'
import { entity } from '../../src/grounding/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tool/index.ts'

const project = entity('project', { pattern: /p-\d+/ })
const flight = entity('flight', { key: ['number', 'date'] })

const ODD = {
  'a label that is an object': { selects: () => [{ entity: 'project', id: 'p-1', label: { a: 1 } }] },
  'an id that is a list of objects': { returns: () => [{ entity: 'project', id: [{}] }] },
  'null among sightings': { returns: () => [null] },
  'no list at all': { returns: () => ({}) },
}

it.each(Object.entries(ODD))('%s is a warning, and the conversation goes on', async (_, odd) => {
  const list = defineTool({
    name: 'list',
    description: 'l',
    input: z.object({}),
    run: () => 'x',
    ...odd,
  } as never)
  const model = new ScriptedModel([{ calls: [{ tool: 'list', args: {} }] }, 'Listed.', 'Hello.'])
  const agent = new Agent({ contextId: 'odd', model, tools: [list], entities: [project] })
  const turn = agent.executeTurn('List')
  const types: string[] = []
  for await (const event of turn) types.push(event.type)
  expect((await turn.outcome).text).toBe('Listed.')
  expect(types).toContain('warning')
  expect(await agent.input('Hi')).toBe('Hello.')
})

it('a label that is a number is a text', async () => {
  const choose = defineTool({
    name: 'choose',
    description: 'c',
    input: z.object({}),
    run: () => 'x',
    selects: () => [project.select('p-1', { label: 5 as never })],
  })
  const model = new ScriptedModel([{ calls: [{ tool: 'choose', args: {} }] }, 'Chosen.', 'Hello.'])
  const agent = new Agent({ contextId: 'five', model, tools: [choose], entities: [project] })
  expect(await agent.input('Choose')).toBe('Chosen.')
  expect(agent.active).toMatchObject([{ id: 'p-1', label: '5' }])
  expect(await agent.input('Hi')).toBe('Hello.')
})

it('arguments without an end fail their call and nothing else', async () => {
  const dag = (depth: number): unknown => {
    let node: unknown = 1
    for (let level = 0; level < depth; level++) node = [node, node]
    return node
  }
  const ran: unknown[] = []
  const use = defineTool({
    name: 'use',
    description: 'u',
    input: z.object({ id: z.string().meta(project.id()), x: z.any().transform(() => dag(40)) }),
    parameters: { type: 'object', properties: { id: { type: 'string', ...project.id() }, x: {} } },
    run: (input) => {
      ran.push(input)
      return 'ok'
    },
  })
  const model = new ScriptedModel([{ calls: [{ tool: 'use', args: { id: 'p-1', x: 1 } }] }, 'Sorry.'])
  const agent = new Agent({ contextId: 'dag', model, tools: [use], entities: [project] })
  expect(await agent.input('Use p-1')).toBe('Sorry.')
  expect(ran).toEqual([])
  await expect(agent.cancel(dag(40) as never)).rejects.toMatchObject({ code: 'invalid-option' })
})

it('keys of several arguments with the joint in them are not mixed up', async () => {
  const booked: unknown[] = []
  const list = defineTool({
    name: 'list',
    description: 'l',
    input: z.object({}),
    run: () => [{ number: 'A|B', date: 'C' }],
    returns: (rows) => flight.rows(rows, { id: ['number', 'date'] }),
  })
  const book = defineTool({
    name: 'book',
    description: 'b',
    input: z.object({
      number: z.string().meta(flight.part('number').id()),
      date: z.string().meta(flight.part('date').id()),
    }),
    run: (input) => {
      booked.push(input)
      return 'ok'
    },
  })
  const model = new ScriptedModel([
    { calls: [{ tool: 'list', args: {} }] },
    { calls: [{ tool: 'book', args: { number: 'A', date: 'B|C' } }] },
    { calls: [{ tool: 'book', args: { number: 'A|B', date: 'C' } }] },
    'Booked.',
  ])
  const agent = new Agent({ contextId: 'joint', model, tools: [list, book], entities: [flight] })
  await agent.input('Book it')
  expect(booked).toEqual([{ number: 'A|B', date: 'C' }])
})

it('a key that contains a credential is refused, and nothing is stored', async () => {
  const secret = 'sk-very-secret-12345'
  const agent = new Agent({ contextId: 'key', model: new ScriptedModel(['Hi.']) })
  const { error } = await agent.executeTurn('x', {
    auth: { credentials: { token: secret } },
    key: `k-${secret}`,
  }).outcome
  expect(error?.code).toBe('invalid-option')
  expect(await agent.getMessages()).toEqual([])
})

it('a field that a schema computes is read once: the tool gets what was judged', async () => {
  const used: string[] = []
  const computed = ({ projectId }: { projectId: string }): { projectId: string } => {
    let reads = 0
    return {
      get projectId() {
        reads += 1
        return reads > 1 ? 'p-9' : projectId
      },
    }
  }
  const use = defineTool({
    name: 'use',
    description: 'u',
    input: z.object({ projectId: z.string().meta(project.id()) }).transform(computed),
    run: (input) => void used.push(input.projectId),
  })
  const model = new ScriptedModel([{ calls: [{ tool: 'use', args: { projectId: 'p-1' } }] }, 'Used.'])
  await new Agent({ contextId: 'once', model, tools: [use], entities: [project] }).input('Use p-1')
  expect(used).toEqual(['p-1'])
})
