/** Ids on their way to a tool, in real turns: accepted, refused, asked about, and remembered. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { entity, lookupTool } from '../../src/grounding/index.ts'
import { HoldfastError } from '../../src/protocol/index.ts'
import { defineTool } from '../../src/tool/index.ts'
import { bench, calls, journal, KEY, promptLines, STORES, said } from '../turn/kit.ts'

const HOUR = 3_600_000
const project = entity('project', { ttl: '7h', pattern: /p-\d+/ })
const task = entity('task', { parent: project, pattern: /t-\d+/ })

const PROJECTS = [
  { id: 'p-11', name: 'Champigny' },
  { id: 'p-22', name: 'Bureau' },
  { id: 'p-33', name: 'Bureau' },
]

function site() {
  const ran: string[] = []
  const list = defineTool({
    name: 'list_projects',
    description: 'Lists projects.',
    input: z.object({}),
    replay: 'safe',
    returns: (rows) => project.rows(rows, { id: 'id', label: 'name' }),
    run: () => PROJECTS,
  })
  const tasks = defineTool({
    name: 'list_tasks',
    description: 'Lists the tasks of a project.',
    input: z.object({ projectId: z.string().meta(project.id()) }),
    replay: 'safe',
    run: ({ projectId }) => {
      ran.push(projectId)
      return [{ id: 't-1', title: 'Roof' }]
    },
    returns: (rows, { projectId }) => task.rows(rows, { id: 'id', label: 'title', parent: () => projectId }),
  })
  const choose = defineTool({
    name: 'choose',
    description: 'Chooses a project.',
    input: z.object({ projectId: z.string().meta(project.id()) }),
    run: ({ projectId }) => ({
      id: projectId,
      name: PROJECTS.find(({ id }) => id === projectId)?.name ?? '',
    }),
    selects: ({ id, name }) => [project.select(id, { label: name })],
  })
  const find = lookupTool(project, () => PROJECTS, { fields: { id: 'id', label: 'name' } })
  return { ran, tools: [list, tasks, choose, find], entities: [project, task] }
}

const listing = calls('list_projects')
const tasksOf = (projectId: string) => calls(['list_tasks', { projectId }])

describe.each(STORES)('an id, on %s', (_name, open) => {
  it('that nobody has ever seen does not reach the tool, and the model reads what to do', async () => {
    const { ran, ...config } = site()
    const { agent, store } = bench({ store: open(), script: [tasksOf('p-99'), 'Sorry.'], ...config })
    await agent.input('Show the tasks')
    expect(ran).toEqual([])
    expect(await said(store)).toContain('tool call_1:rejected')
    const end = (await store.read(KEY)).find(({ type }) => type === 'tool.end')
    expect(end?.data['output']).toMatchObject({
      error: 'ungrounded',
      reason: 'unknown',
      next: { do: 'lookup' },
    })
  })

  it('that a tool has shown does, and the journal says where it came from', async () => {
    const { ran, ...config } = site()
    const { agent, store } = bench({ store: open(), script: [listing, tasksOf('p-11'), 'Roof.'], ...config })
    await agent.input('Show the tasks of Champigny')
    expect(ran).toEqual(['p-11'])
    const start = (await store.read(KEY)).findLast(({ type }) => type === 'tool.start')
    expect(start?.data).toMatchObject({
      grounds: [{ path: 'projectId', entity: 'project', id: 'p-11', source: 'seen' }],
    })
  })

  it('that a person wrote does; a part of a number does not', async () => {
    const { ran, ...config } = site()
    const { agent } = bench({
      store: open(),
      script: [tasksOf('p-77'), 'Ok.', tasksOf('p-7'), 'No.'],
      ...config,
    })
    await agent.input('Tasks of p-77, please')
    await agent.input('It costs 77 euros')
    expect(ran).toEqual(['p-77'])
  })

  it('is found by a label, or by its place in the newest list', async () => {
    const { ran, ...config } = site()
    const script = [listing, tasksOf('champigny'), 'One.', tasksOf('project 1'), 'Two.']
    const { agent } = bench({ store: open(), script, ...config })
    await agent.input('Tasks of Champigny')
    await agent.input('Again project 1')
    expect(ran).toEqual(['p-11', 'p-11'])
  })

  it('of two things with one name is asked for, and the answer decides', async () => {
    const { ran, ...config } = site()
    const { agent } = bench({ store: open(), script: [listing, tasksOf('Bureau'), 'Here.'], ...config })
    const { reason, requests } = await agent.executeTurn('Tasks of Bureau').outcome
    expect([reason, requests[0]?.options]).toEqual(['input-required', ['Bureau (p-22)', 'Bureau (p-33)']])
    await agent.answer({ [requests[0]?.requestId ?? '']: 'Bureau (p-33)' }).outcome
    expect(ran).toEqual(['p-33'])
  })

  it('of long ago still counts though no prompt shows it, and one older than its ttl does not', async () => {
    const { ran, ...config } = site()
    const chat = Array.from({ length: 10 }, () => 'Yes.')
    const script = [listing, 'Listed.', ...chat, tasksOf('p-11'), 'Roof.', tasksOf('p-11'), 'Too old.']
    const store = open()
    const { agent, clock } = bench({ store, script, maxMessages: 4, ...config })
    await agent.input('List projects')
    for (const _ of chat) await agent.input('Well?')
    expect(await agent.input('Tasks of Champigny')).toBe('Roof.')
    clock.advance(8 * HOUR)
    await agent.input('Tasks of Champigny')
    expect(ran).toEqual(['p-11'])
  })

  it('seen before the conversation was cleared does not count', async () => {
    const { ran, ...config } = site()
    const { agent } = bench({
      store: open(),
      script: [listing, 'Listed.', tasksOf('p-11'), 'No.'],
      ...config,
    })
    await agent.input('List projects')
    await agent.clear()
    await agent.input('Tasks')
    expect(ran).toEqual([])
  })
})

describe('what is chosen', () => {
  it('is told to the model at the end of every prompt, and is good without having been seen', async () => {
    const { ran, ...config } = site()
    const { agent, model } = bench({ script: [tasksOf('p-11'), 'Roof.'], ...config })
    await agent.select(project.select('p-11', { label: 'Champigny' }))
    await agent.input('Show the tasks')
    expect(ran).toEqual(['p-11'])
    expect(promptLines(model, 0).at(-1)).toBe(
      'user "[Current state - Source of truth]\\nActive project: Champigny (ID: p-11)"',
    )
  })

  it('wins: another id passes only if the person or a tool of this turn speaks of it', async () => {
    const { ran, ...config } = site()
    const script = [listing, 'Listed.', tasksOf('p-22'), 'No.', tasksOf('p-22'), 'Yes.']
    const { agent } = bench({ script, ...config })
    await agent.input('List projects')
    await agent.select(project.select('p-11', { label: 'Champigny' }))
    await agent.input('Show the tasks')
    expect(ran).toEqual([])
    await agent.input('Show the tasks of p-22')
    expect(ran).toEqual(['p-22'])
  })

  it('is chosen by a tool, lets go of its parts, and expires', async () => {
    const { ran: _, ...config } = site()
    const script = [listing, calls(['choose', { projectId: 'p-11' }]), 'Chosen.']
    const { agent, clock, another } = bench({ script, ...config })
    await agent.select(project.select('p-22'), task.select('t-9', { parent: 'p-22' }))
    await agent.input('Choose Champigny')
    expect(agent.active).toMatchObject([{ entity: 'project', id: 'p-11', label: 'Champigny' }])
    const later = another()
    await later.start()
    expect(later.active).toMatchObject([{ entity: 'project', id: 'p-11' }])
    clock.advance(8 * HOUR)
    expect(later.active).toEqual([])
  })

  it('lasts seven hours from its last use: a call that uses it prolongs it, being shown does not', async () => {
    const { ran, ...config } = site()
    const { agent, clock } = bench({ script: [tasksOf('p-11'), 'Roof.', 'Hello.'], ...config })
    await agent.select(project.select('p-11', { label: 'Champigny' }))
    clock.advance(6 * HOUR)
    await agent.input('Show the tasks')
    expect(ran).toEqual(['p-11'])
    clock.advance(6 * HOUR)
    await agent.input('Hello')
    expect(agent.active).toMatchObject([{ entity: 'project', id: 'p-11', label: 'Champigny' }])
    clock.advance(HOUR)
    expect(agent.active).toEqual([])
  })

  it('speaks the language of the turn', async () => {
    const { ran: _, ...config } = site()
    const { agent, model } = bench({ script: ['Oui.'], ...config })
    await agent.select(project.select('p-11', { label: 'Champigny' }))
    await agent.executeTurn('Bonjour', { metadata: { language: 'fr' } }).outcome
    expect(promptLines(model, 0).at(-1)).toContain('[État actuel - Source de vérité]')
  })
})

describe('a policy', () => {
  it('may only warn, or look away', async () => {
    for (const [policy, warnings] of [
      ['warn', 1],
      ['off', 0],
    ] as const) {
      const lax = entity('thing', { policy })
      const ran: string[] = []
      const tool = defineTool({
        name: 'use',
        description: 'Uses a thing.',
        input: z.object({ thingId: z.string().meta(lax.id()) }),
        run: ({ thingId }) => void ran.push(thingId),
      })
      const { agent, store } = bench({
        script: [calls(['use', { thingId: 'x' }]), 'Ok.'],
        tools: [tool],
        entities: [lax],
      })
      await agent.input('Use it')
      expect(ran).toEqual(['x'])
      expect((await journal(store)).filter((line) => line.includes('warning ungrounded'))).toHaveLength(
        warnings,
      )
    }
  })

  it('is not guessed: two entities of one name are refused', () => {
    expect(() => bench({ entities: [entity('x'), entity('x')] })).toThrow(HoldfastError)
  })
})

it('marks of ids are not shown to models', async () => {
  const { ran: _, ...config } = site()
  const { agent, model } = bench({ script: ['Hm.'], ...config })
  await agent.input('Hello')
  expect(JSON.stringify(model.calls[0]?.tools)).not.toContain('x-entity')
})
