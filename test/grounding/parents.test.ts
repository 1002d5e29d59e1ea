/** Parts of things are judged together with their parents. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { entity, type MemoryFactsOptions } from '../../src/grounding/index.ts'
import type { Json, JsonObject, Sighting } from '../../src/protocol/index.ts'
import { defineTool } from '../../src/tool/index.ts'
import { bench, calls, KEY } from '../turn/kit.ts'
import { recording } from './guarded-tools.ts'
import { active, brief, bureau, champigny, HOUR, judged, NOW, project, shown, task } from './kit.ts'

const part = (id: string, label: string, parent: string): Sighting => ({ entity: 'task', id, label, parent })
const roof = part('def-001', 'Roof', 'abc-123')
const wall = part('def-002', 'Wall', 'abc-123')
const otherRoof = part('def-101', 'Roof', 'abc-456')
const floor = part('def-102', 'Floor', 'abc-456')

const projects = shown([champigny, bureau], 3 * HOUR, 1)
const tasksOfA = shown([roof, wall], 2 * HOUR, 2)
const tasksOfB = shown([otherRoof, floor], HOUR / 2, 3)
/** Tasks of Champigny were listed, then Bureau was selected. */
const switched = { active: [active(bureau, HOUR)], batches: [projects, tasksOfA] }

const TASK: JsonObject = { type: 'object', properties: { taskId: { type: 'string', ...task.id() } } }
const BOTH: JsonObject = {
  type: 'object',
  properties: { projectId: { type: 'string', ...project.id() }, taskId: { type: 'string', ...task.id() } },
}
const judge = async (args: Json, facts: MemoryFactsOptions, parameters = TASK): Promise<string> =>
  brief(await judged(args, facts, { parameters }))

describe('after a switch to another parent, a part of the one before', () => {
  it.each([
    ['by its id', 'def-001'],
    ['by a number', '1'],
    ['by a place', 'the first one'],
    ['by a place with its noun', 'the first task'],
    ['by its label', 'Wall'],
    ['by its label with a typo', 'Walll'],
  ])('is refused %s', async (_, taskId) => {
    expect(await judge({ taskId }, switched)).toMatch(/^refused (wrong-parent|unknown)$/)
  })

  it('is refused whoever chose the parent', async () => {
    for (const by of ['tool', 'program', 'person'] as const) {
      const facts = { ...switched, active: [{ ...active(bureau, HOUR), by }] }
      expect(await judge({ taskId: 'def-001' }, facts)).toBe('refused wrong-parent')
    }
  })

  it('is refused though the person says the place: the list is of the parent before', async () => {
    expect(await judge({ taskId: 'def-001' }, { ...switched, userText: 'the first one' })).toBe(
      'refused wrong-parent',
    )
  })

  it.each([
    ['the person writes its id', { userText: 'close def-002' }],
    ['the person wrote its id since', { said: [{ text: 'close def-002', at: NOW - HOUR / 2 }] }],
    ['the person names its parent', { userText: 'close the wall of Champigny' }],
    ['a tool has shown it since', { batches: [projects, tasksOfA, shown([wall], HOUR / 2)] }],
    [
      'the person names it, and no part of the chosen one is called so',
      {
        userText: 'close the wall',
        batches: [projects, tasksOfA, tasksOfB],
      },
    ],
    ['nothing is chosen any more', { active: [active(bureau, 8 * HOUR)] }],
  ])('passes if %s', async (_, more: MemoryFactsOptions) => {
    expect(await judge({ taskId: 'def-002' }, { ...switched, ...more })).toBe('seen def-002')
  })

  it('does not pass because the person wrote its id before', async () => {
    const said = [{ text: 'close def-002', at: NOW - 2 * HOUR }]
    expect(await judge({ taskId: 'def-002' }, { ...switched, said })).toBe('refused wrong-parent')
  })

  it('gives way to the part of the chosen one with the same label', async () => {
    const facts = { ...switched, batches: [projects, tasksOfA, tasksOfB] }
    expect(await judge({ taskId: 'Roof' }, facts)).toBe('label def-101')
    expect(await judge({ taskId: 'Roof' }, { batches: facts.batches })).toBe('ask same-label def-001 def-101')
  })
})

describe('a call', () => {
  const batches = [projects, tasksOfA, tasksOfB]
  it.each([
    [
      'that contradicts itself is refused',
      { projectId: 'abc-456', taskId: 'def-001' },
      'refused wrong-parent',
    ],
    [
      'that contradicts itself in words is refused',
      { projectId: 'Bureau', taskId: 'Wall' },
      'refused wrong-parent',
    ],
    [
      'that names the part first is judged the same',
      { taskId: 'def-001', projectId: 'abc-456' },
      'refused wrong-parent',
    ],
    [
      'with a part of the thing beside it passes',
      { projectId: 'abc-123', taskId: 'def-001' },
      'seen abc-123, seen def-001',
    ],
    [
      'finds the part by its label below the thing beside it',
      { projectId: 'abc-456', taskId: 'roof' },
      'seen abc-456, label def-101',
    ],
  ])('%s', async (_, args, verdict) => {
    expect(await judge(args, { batches }, BOTH)).toBe(verdict)
  })

  it('that contradicts itself is refused though the person wrote both ids', async () => {
    const userText = 'move def-001 to abc-456'
    expect(await judge({ projectId: 'abc-456', taskId: 'def-001' }, { batches, userText }, BOTH)).toBe(
      'refused wrong-parent',
    )
  })

  it('that is right in itself passes whatever parent is chosen by a tool', async () => {
    const facts = { batches, active: [{ ...active(bureau), by: 'tool' as const }] }
    expect(await judge({ projectId: 'abc-123', taskId: 'def-001' }, facts, BOTH)).toBe(
      'seen abc-123, seen def-001',
    )
  })

  it('may have a destination, which is no parent', async () => {
    const parameters: JsonObject = {
      type: 'object',
      properties: { to: { type: 'string', ...project.destination.id() }, taskId: task.id() },
    }
    expect(await judge({ to: 'abc-456', taskId: 'def-001' }, { batches }, parameters)).toBe(
      'seen abc-456, seen def-001',
    )
    expect(await judge({ to: 'abc-999', taskId: 'def-001' }, { batches }, parameters)).toBe('refused unknown')
    const fromTo: JsonObject = {
      type: 'object',
      properties: { from: project.id(), to: project.id(), taskId: task.id() },
    }
    expect(await judge({ from: 'abc-123', to: 'abc-456', taskId: 'def-001' }, { batches }, fromTo)).toBe(
      'seen abc-123, seen abc-456, seen def-001',
    )
  })

  it('pairs each part with the thing in the same object, not with that of another row', async () => {
    const parameters: JsonObject = {
      type: 'object',
      properties: { items: { type: 'array', items: BOTH } },
    }
    const rows = (...ids: [string, string][]) => ({
      items: ids.map(([projectId, taskId]) => ({ projectId, taskId })),
    })
    expect(await judge(rows(['abc-123', 'def-001'], ['abc-456', 'def-101']), { batches }, parameters)).toBe(
      'seen abc-123, seen def-001, seen abc-456, seen def-101',
    )
    expect(await judge(rows(['abc-123', 'def-001'], ['abc-456', 'def-002']), { batches }, parameters)).toBe(
      'refused wrong-parent',
    )
  })

  it('is told what the part belongs to, and which part of the other has its name', async () => {
    const result = await judged(
      { projectId: 'abc-456', taskId: 'def-001' },
      { batches },
      { parameters: BOTH },
    )
    expect(result.kind === 'refused' ? result.output : undefined).toMatchObject({
      message:
        'Nothing was done. taskId: "def-001" belongs to project Champigny (abc-123), not to Bureau (abc-456). Known: Roof (def-101). Use def-101 if it is meant, else ask the person which task is meant. Never make up an id.',
      reason: 'wrong-parent',
      parent: { id: 'abc-123', label: 'Champigny' },
      near: [{ id: 'def-101', label: 'Roof' }],
      next: { do: 'use', ids: ['def-101'] },
    })
  })

  it('goes up more than one step', async () => {
    const room = entity('room', { parent: task })
    const entities = new Map([project, task, room].map((each) => [each.name, each]))
    const { judgeCall, MemoryFacts } = await import('../../src/grounding/index.ts')
    const batch = shown([{ entity: 'room', id: 'r1', parent: 'def-001' }])
    const facts = new MemoryFacts({ batches: [...batches, batch] })
    const parameters: JsonObject = { type: 'object', properties: { p: project.id(), r: room.id() } }
    const verdict = async (p: string) =>
      brief(await judgeCall({ parameters, args: { p, r: 'r1' } }, { entities, facts, now: NOW }))
    expect([await verdict('abc-123'), await verdict('abc-456')]).toEqual([
      'seen abc-123, seen r1',
      'refused wrong-parent',
    ])
  })
})

it('in a turn: what was listed of the project before does not run after the switch', async () => {
  const site = entity('project', { pattern: /p-\d/ })
  const job = entity('task', { parent: site, pattern: /t-\d+/ })
  const list = defineTool({
    name: 'list',
    description: 'Lists tasks.',
    input: z.object({ projectId: z.string().meta(site.id()) }),
    run: ({ projectId }) => [1, 2].map((n) => ({ id: `t-${projectId.slice(2)}${n}`, projectId })),
    returns: (rows) => job.rows(rows, { id: 'id', parent: 'projectId' }),
  })
  const { tool: close, ran } = recording('close', z.object({ taskId: z.string().meta(job.id()) }))
  const script = [
    calls(['list', { projectId: 'p-1' }]),
    'Listed.',
    calls(['close', { taskId: 't-11' }], ['close', { taskId: '1' }], ['close', { taskId: 'the first one' }]),
    'No.',
    calls(['list', { projectId: 'p-2' }]),
    calls(['close', { taskId: '1' }]),
    'Closed.',
  ]
  const { agent, store, clock } = bench({ script, tools: [list, close], entities: [site, job] })
  await agent.select(site.select('p-1'))
  await agent.input('List them')
  clock.advance(10)
  await agent.select(site.select('p-2'))
  await agent.input('Close the first one')
  expect(ran).toEqual([])
  await agent.input('Then list and close the first')
  expect(ran).toEqual([{ taskId: 't-21' }])
  const rejected = (await store.read(KEY)).filter(({ data }) => data['status'] === 'rejected')
  expect(rejected).toHaveLength(3)
})
