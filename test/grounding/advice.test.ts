/** One refused call is enough: a model that follows the refusal's `next` reaches the right id, in real turns. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type EntityOptions, entity, lookupTool } from '../../src/grounding/index.ts'
import type { Json, JsonObject } from '../../src/protocol/index.ts'
import type { ScriptedFunction, ScriptedRequest, ScriptedStep } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tool/index.ts'
import { bench, calls, KEY } from '../turn/kit.ts'

const HOUR = 3_600_000
const PROJECTS = [
  { id: 'p-11', name: 'Champigny' },
  { id: 'p-22', name: 'Bureau' },
  { id: 'p-33', name: 'École' },
  { id: 'p-44', name: 'Bureau' },
]
const listing = calls('list_projects')
const tasksOf = (projectId: string): ScriptedStep => calls(['list_tasks', { projectId }])

interface Site {
  readonly script: ScriptedFunction
  readonly hasLookup?: boolean
  readonly options?: EntityOptions
}

function site({ script, hasLookup = true, options = {} }: Site) {
  const project = entity('project', { pattern: /p-\d+/, ...options })
  const task = entity('task', { parent: project, pattern: /t-\d+/ })
  const ran: string[] = []
  const list = defineTool({
    name: 'list_projects',
    description: 'Lists projects.',
    input: z.object({}),
    run: () => PROJECTS,
    returns: (rows) => project.rows(rows, { id: 'id', label: 'name' }),
  })
  const tasks = defineTool({
    name: 'list_tasks',
    description: 'Lists the tasks of a project.',
    input: z.object({ projectId: z.string().meta(project.id()) }),
    run: ({ projectId }) => {
      ran.push(projectId)
      return [{ id: 't-1', title: 'Roof' }]
    },
    returns: (rows) => task.rows(rows, { id: 'id', label: 'title' }),
  })
  const find = lookupTool(project, () => PROJECTS, { fields: { id: 'id', label: 'name' } })
  const tools = hasLookup ? [list, tasks, find] : [list, tasks]
  return { project, ran, ...bench({ script, tools, entities: [project, task] }) }
}

/** The tool results of the last round, if the model has not replied since. */
function answers({ prompt }: ScriptedRequest): readonly JsonObject[] {
  const last = prompt.findLast(
    ({ role, content }) => role !== 'user' || !JSON.stringify(content).includes('"['),
  )
  if (last?.role !== 'tool') return []
  return (last.content as unknown as { output: { value: Json } }[]).map(
    ({ output }) => output.value as JsonObject,
  )
}

/**
 * Follows the script; after a refusal it does only what `next` says. It knows only the person's name for the thing.
 * `meansAnother`: it does not want the active one.
 */
function obedient(
  script: readonly ScriptedStep[],
  name: string,
  { meansAnother = false } = {},
): ScriptedFunction {
  const left = [...script]
  return (request) => {
    const [answer] = answers(request)
    if (answer?.['error'] === 'ungrounded') {
      const { do: what, ids = [], tool } = answer['next'] as { do: string; ids?: string[]; tool?: string }
      if (what === 'lookup' || (meansAnother && tool !== undefined)) return calls([tool ?? '', { name }])
      if (what === 'use') return tasksOf(ids[0] ?? '')
      if (what === 'one-by-one')
        return calls(...ids.map((projectId) => ['list_tasks', { projectId }] as const))
      return 'Which project is meant?'
    }
    if (answer?.['outcome'] === 'exact') return tasksOf(answer['id'] as string)
    return left.shift() ?? 'Done.'
  }
}

async function refusals({ store }: Pick<ReturnType<typeof site>, 'store'>): Promise<unknown[]> {
  return (await store.read(KEY)).flatMap(({ type, data }) => {
    const output = data['output'] as JsonObject | undefined
    return type === 'tool.end' && data['status'] === 'rejected'
      ? [[output?.['reason'], output?.['next']]]
      : []
  })
}

describe('a model that follows the advice is right after one refusal', () => {
  it('unknown, and something is like it', async () => {
    const made = site({ script: obedient([listing, 'Listed.', tasksOf('p-110')], 'Champigny') })
    await made.agent.input('List the projects')
    await made.agent.input('Tasks of Champigny')
    expect(made.ran).toEqual(['p-11'])
    expect(await refusals(made)).toEqual([['unknown', { do: 'use', ids: ['p-11'], tool: 'find_project' }]])
  })

  it('unknown, and nothing is like it', async () => {
    const made = site({ script: obedient([tasksOf('proj-champigny')], 'Champigny') })
    await made.agent.input('Tasks of Champigny')
    expect(made.ran).toEqual(['p-11'])
    expect(await refusals(made)).toEqual([['unknown', { do: 'lookup', tool: 'find_project' }]])
  })

  it('unknown, and nothing can find it: the person is asked', async () => {
    const script = obedient([tasksOf('proj-champigny'), tasksOf('p-11')], 'Champigny')
    const made = site({ script, hasLookup: false })
    expect(await made.agent.input('Tasks of Champigny')).toBe('Which project is meant?')
    await made.agent.input('p-11')
    expect(made.ran).toEqual(['p-11'])
    expect(await refusals(made)).toEqual([['unknown', { do: 'ask' }]])
  })

  it('unknown, and a tool of the host lists such things', async () => {
    const script = obedient([tasksOf('proj-champigny'), tasksOf('p-11')], 'Champigny')
    const made = site({ script, hasLookup: false, options: { lookup: 'list_projects' } })
    await made.agent.input('Tasks of Champigny')
    expect(made.ran).toEqual(['p-11'])
    expect(await refusals(made)).toEqual([['unknown', { do: 'lookup', tool: 'list_projects' }]])
  })

  it('expired', async () => {
    const made = site({ script: obedient([listing, 'Listed.', tasksOf('p-11')], 'Champigny') })
    await made.agent.input('List the projects')
    made.clock.advance(8 * HOUR)
    await made.agent.input('Its tasks')
    expect(made.ran).toEqual(['p-11'])
    expect(await refusals(made)).toEqual([['expired', { do: 'lookup', tool: 'find_project' }]])
  })

  it('not active, and what is active is meant', async () => {
    const made = site({ script: obedient([listing, 'Listed.', tasksOf('p-33')], 'Champigny') })
    await made.agent.input('List the projects')
    await made.agent.select(made.project.select('p-11', { label: 'Champigny' }))
    await made.agent.input('Show the tasks')
    expect(made.ran).toEqual(['p-11'])
    expect(await refusals(made)).toEqual([['not-active', { do: 'use', ids: ['p-11'], tool: 'find_project' }]])
  })

  it('not active, and another is meant', async () => {
    const script = obedient([listing, 'Listed.', tasksOf('p-33')], 'École', { meansAnother: true })
    const made = site({ script })
    await made.agent.input('List the projects')
    await made.agent.select(made.project.select('p-11', { label: 'Champigny' }))
    await made.agent.input('Show the tasks of the school')
    expect(made.ran).toEqual(['p-33'])
    expect(await refusals(made)).toHaveLength(1)
  })

  it('wrong kind', async () => {
    const script = obedient([listing, tasksOf('p-11'), 'Roof.', tasksOf('t-1')], 'École')
    const made = site({ script })
    await made.agent.input('Tasks of Champigny')
    await made.agent.input('Tasks of École')
    expect(made.ran).toEqual(['p-11', 'p-33'])
    expect(await refusals(made)).toEqual([['wrong-kind', { do: 'use', ids: ['p-33'], tool: 'find_project' }]])
  })

  it('several that are all meant', async () => {
    const made = site({ script: obedient([listing, 'Listed.', tasksOf('1 and 3')], '') })
    await made.agent.input('List the projects')
    await made.agent.input('Tasks of 1 and 3')
    expect(made.ran).toEqual(['p-11', 'p-33'])
    expect(await refusals(made)).toEqual([['several', { do: 'one-by-one', ids: ['p-11', 'p-33'] }]])
  })

  it('several of which one is meant, where the guard itself may not ask: none is done before the person says', async () => {
    const script = obedient([listing, tasksOf('Bureau'), tasksOf('p-44')], 'Bureau')
    const made = site({ script, options: { sources: ['seen', 'said', 'label'] } })
    expect(await made.agent.input('Tasks of Bureau')).toBe('Which project is meant?')
    expect(made.ran).toEqual([])
    await made.agent.input('p-44')
    expect(made.ran).toEqual(['p-44'])
    expect(await refusals(made)).toEqual([['several', { do: 'ask', ids: ['p-22', 'p-44'] }]])
  })
})
