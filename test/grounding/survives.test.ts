/** Sightings and selections outlive windows, compactions, forks, restarts and changes of the provider. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type Agent, takeOver } from '../../src/agent/index.ts'
import { entity } from '../../src/grounding/index.ts'
import type { Entry } from '../../src/protocol/index.ts'
import { ScriptedModel, type ScriptedStep } from '../../src/testing/index.ts'
import type { ScriptedFunction } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tool/index.ts'
import { runTurn } from '../../src/turn/index.ts'
import { type Bench, bench, calls, KEY, openSqlite, promptLines, sqlitePath } from '../turn/kit.ts'

const project = entity('project', { ttl: '7h', scope: 'conversation' })

function site() {
  const ran: string[] = []
  const list = defineTool({
    name: 'list',
    description: 'Lists projects.',
    input: z.object({}),
    run: () => [
      { id: 'p-11', name: 'Champigny' },
      { id: 'p-22', name: 'Bureau' },
    ],
    returns: (rows) => project.rows(rows, { id: 'id', label: 'name' }),
  })
  const use = defineTool({
    name: 'use',
    description: 'Uses a project.',
    input: z.object({ projectId: z.string().meta(project.id()) }),
    run: ({ projectId }) => void ran.push(projectId),
  })
  return { ran, tools: [list, use], entities: [project] }
}

/** Each takes the agent that saw the list, and returns the one that continues. */
const CHANGES: readonly (readonly [string, (before: Bench, path: string) => Promise<Agent>])[] = [
  [
    'a compaction',
    async ({ agent }) => {
      await agent.input('Well?')
      expect(await agent.compact({ keep: 1 })).toBe(true)
      return agent
    },
  ],
  ['a fork', ({ agent }) => agent.fork('branch')],
  ['another agent object', async ({ another }) => another()],
  [
    'a restart',
    async ({ agent, store, another }, path) => {
      await agent.shutdown()
      await store.close()
      return another({ store: openSqlite(path) })
    },
  ],
  [
    'another provider',
    async ({ another }) =>
      another({
        model: new ScriptedModel([calls(['use', { projectId: 'p-11' }]), 'Done.'], { name: 'other/model' }),
      }),
  ],
]

describe.each(CHANGES)('after %s', (name, change) => {
  it('an id that was seen is still good, an invented one is not, and what is chosen is chosen', async () => {
    const path = sqlitePath()
    const { ran, ...config } = site()
    const script: ScriptedFunction = ({ prompt }) => {
      const texts = prompt.map((message) => JSON.stringify(message))
      const asked = texts.findLastIndex((text) => /"(List|Use|Invent|Well\?)"/.test(text))
      const isAnswered = prompt.slice(asked).some(({ role }) => role === 'tool')
      const words = texts[asked] ?? ''
      if (isAnswered || words.includes('Well?')) return 'Done.'
      if (words.includes('List')) return calls('list')
      return calls(['use', { projectId: words.includes('Invent') ? 'p-99' : 'p-11' }])
    }
    const made = bench({ store: openSqlite(path), realTime: true, script, ...config })
    await made.agent.input('List')
    await made.agent.select(project.select('p-11', { label: 'Champigny' }))
    const after = await change(made, path)
    await after.input('Use')
    expect(ran).toEqual(['p-11'])
    expect(after.active).toMatchObject([{ entity: 'project', id: 'p-11', label: 'Champigny' }])
    if (name === 'another provider') return
    await after.input('Invent')
    expect(ran).toEqual(['p-11'])
    expect(promptLines(made.model, made.model.calls.length - 1).at(-1)).toContain('Champigny (ID: p-11)')
  })
})

it('a question has the details of things that no prompt shows any more', async () => {
  const { tools, entities } = site()
  const list = defineTool({
    name: 'list',
    description: 'Lists projects.',
    input: z.object({}),
    run: () => ['Lyon', 'Nantes'].map((town) => ({ id: `p-${town}`, name: 'Bureau', town })),
    returns: (rows) => project.rows(rows, { id: 'id', label: 'name', detail: 'town' }),
  })
  const script = [calls('list'), 'Done.', 'Yes.', calls(['use', { projectId: 'Bureau' }])]
  const { agent } = bench({ tools: [list, ...tools.slice(1)], entities, script })
  await agent.input('List')
  await agent.input('Well?')
  expect(await agent.compact({ keep: 1 })).toBe(true)
  const { requests } = await agent.executeTurn('Use Bureau').outcome
  expect(requests[0]?.options).toEqual(['Bureau (Lyon)', 'Bureau (Nantes)'])
})

it('in a turn with a persistence of its own, an id that no prompt shows any more is still good', async () => {
  const { ran, ...config } = site()
  let entries: readonly Entry[] = []
  const play = async (message: string, ...steps: ScriptedStep[]) => {
    const model = new ScriptedModel(steps)
    for await (const batch of runTurn({ ...config, model, message, entries, maxMessages: 2 }))
      entries = [...entries, ...batch]
  }
  await play('List', calls('list'), 'Done.')
  await play('Well?', 'Yes.')
  await play('And?', 'Yes.')
  await play('Use', calls(['use', { projectId: 'p-22' }], ['use', { projectId: 'p-99' }]), 'Done.')
  expect(ran).toEqual(['p-22'])
})

describe('what a tool finds out about a call of a process that is gone', () => {
  it('shows the same ids as its result would have shown', async () => {
    const { tools, entities } = site()
    const [list] = tools
    const output = [{ id: 'p-11', name: 'Champigny' }]
    const verified = { ...list, verify: () => ({ happened: true, output }) } as (typeof tools)[number]
    const script = [calls('list'), 'Done.']
    const { agent, another, store } = bench({ tools: [verified], entities, script, realTime: true })
    const turn = agent.executeTurn('List', { manual: true })
    for (let step = await turn.step(); step.next !== 'tools'; step = await turn.step());
    await takeOver(store, KEY)
    const next = another()
    await next.start()
    await next.turn?.outcome
    const [end] = (await store.read(KEY)).filter(({ type }) => type === 'tool.end')
    expect(end?.data).toMatchObject({ status: 'ok', seen: [{ entity: 'project', id: 'p-11' }] })
  })
})
