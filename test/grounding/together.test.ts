/** Rules of the guard combined in one call: composite keys, normal forms and parts, converted and below others. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { Agent, agentTool } from '../../src/agent/index.ts'
import { entity } from '../../src/grounding/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { calls } from '../turn/kit.ts'
import { listing, recording } from './guarded-tools.ts'

const flight = entity('flight', { key: ['number', 'date'] })
const order = entity('order', { pattern: /ord_\d+/, normalize: (id) => id.replace(/^ord_/, '') })
const project = entity('project', { pattern: /p-\d+/ })
const task = entity('task', { pattern: /t-\d+/, parent: project })

it('an id of several arguments that a schema converts and a person approves is the one that was shown', async () => {
  const flights = listing('flights', [{ no: 'HF12', on: '2026-11-20' }], (rows) =>
    flight.rows(rows, { id: ['no', 'on'] }),
  )
  const input = z.object({
    number: z.string().toUpperCase().meta(flight.part('number').id()),
    date: z.string().meta(flight.part('date').id()),
  })
  const { tool: book, ran: booked } = recording('book', input, { approve: 'always' })
  const model = new ScriptedModel([
    calls('flights'),
    calls(['book', { number: 'hf12', date: '2026-11-20' }]),
    'Booked.',
    calls(['book', { number: 'hf12', date: '2026-11-21' }]),
    'Sorry.',
  ])
  const agent = new Agent({ contextId: 'fly', model, tools: [flights, book], entities: [flight] })
  const { requests } = await agent.executeTurn('Book the flight').outcome
  expect(requests.map(({ kind }) => kind)).toEqual(['confirmation'])
  await agent.answer({ [requests[0]?.requestId ?? '']: true }).outcome
  expect(booked).toEqual([{ number: 'HF12', date: '2026-11-20' }])
  await agent.executeTurn('And the day after').outcome
  expect(booked).toHaveLength(1)
})

it('an approved call whose schema takes a prefix off stays grounded', async () => {
  const orders = listing('orders', [{ id: 'ord_5' }], (rows) => order.rows(rows, { id: 'id' }))
  const id = z
    .string()
    .transform((text) => text.replace(/^ord_/, ''))
    .meta(order.id())
  const { tool: cancel, ran: cancelled } = recording('cancel', z.object({ id }), {
    parameters: { type: 'object', properties: { id: { type: 'string', ...order.id() } } },
    approve: 'always',
  })
  const model = new ScriptedModel([calls('orders'), calls(['cancel', { id: 'ord_5' }]), 'Done.'])
  const agent = new Agent({ contextId: 'shop', model, tools: [orders, cancel], entities: [order] })
  const { requests } = await agent.executeTurn('Cancel it').outcome
  expect(requests).toHaveLength(1)
  await agent.answer({ [requests[0]?.requestId ?? '']: true }).outcome
  expect(cancelled).toEqual([{ id: '5' }])
})

it('a part beside another parent is refused below as above, though the caller has seen both', async () => {
  const list = listing(
    'list',
    [
      { id: 't-1', project: 'p-1' },
      { id: 't-2', project: 'p-2' },
    ],
    (rows) => [...task.rows(rows, { id: 'id', parent: 'project' }), ...project.rows(rows, { id: 'project' })],
  )
  const input = z.object({ projectId: z.string().meta(project.id()), taskId: z.string().meta(task.id()) })
  const { tool: close, ran: closed } = recording('close', input)
  const child = agentTool({
    name: 'closer',
    description: 'Closes tasks.',
    agent: {
      model: new ScriptedModel([
        calls(['close', { projectId: 'p-1', taskId: 't-2' }]),
        calls(['close', { projectId: 'p-1', taskId: 't-1' }]),
        'Closed.',
      ]),
      tools: [close],
      entities: [task],
    },
  })
  const model = new ScriptedModel([
    calls('list'),
    calls(['closer', { message: 'close t-2 of p-1' }]),
    'Done.',
  ])
  const agent = new Agent({ contextId: 'site', model, tools: [list, child], entities: [task] })
  await agent.input('Close the task')
  expect(closed).toEqual([{ projectId: 'p-1', taskId: 't-1' }])
})

it('a thing that stands in a list twice has two places', async () => {
  const list = listing('list', [{ id: 'p-1' }, { id: 'p-1' }, { id: 'p-2' }], (rows) =>
    project.rows(rows, { id: 'id' }),
  )
  const { tool: use, ran } = recording('use', z.object({ id: z.string().meta(project.id()) }))
  const model = new ScriptedModel([
    calls('list'),
    'Listed.',
    calls(['use', { id: 'project 2' }]),
    calls(['use', { id: 'project 3' }]),
    'Used.',
  ])
  const agent = new Agent({ contextId: 'twice', model, tools: [list, use], entities: [project] })
  await agent.input('List')
  await agent.input('Use project 2 and project 3')
  expect(ran.map(({ id }) => id)).toEqual(['p-1', 'p-2'])
})

it('an id is good though the window begins inside of the turn that showed it', async () => {
  const list = listing('list', [{ id: 'p-1' }], (rows) => project.rows(rows, { id: 'id' }))
  const { tool: use, ran } = recording('use', z.object({ id: z.string().meta(project.id()) }))
  for (const talks of [0, 1, 2, 3, 4]) {
    const small = Array.from({ length: talks }, () => 'Hello.')
    const model = new ScriptedModel([
      calls('list'),
      'Listed.',
      ...small,
      calls(['use', { id: 'p-1' }]),
      'Used.',
    ])
    const config = { model, tools: [list, use], entities: [project], maxMessages: 4 }
    const agent = new Agent({ contextId: `window-${talks}`, ...config })
    await agent.input('List')
    for (const _ of small) await agent.input('Hello')
    await agent.input('Go on')
  }
  expect(ran.map(({ id }) => id)).toEqual(['p-1', 'p-1', 'p-1', 'p-1', 'p-1'])
})
