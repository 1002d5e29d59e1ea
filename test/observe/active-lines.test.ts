/** Logs say what is active from now on, and who chose it: whether a prompt could have had it is found by reading along. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { entity } from '../../src/entry/grounding.ts'
import { defineTool } from '../../src/index.ts'
import { bench, calls } from '../turn/kit.ts'

const project = entity('project', { pattern: /p-\d+/ })
const task = entity('task', { parent: project, pattern: /t-\d+/ })

const choose = defineTool({
  name: 'choose',
  description: 'Chooses a project.',
  input: z.object({ projectId: z.string().meta(project.id()) }),
  run: ({ projectId }) => projectId,
  selects: (id) => [project.select(id, { label: 'Bureau', by: 'person' })],
})

it('has a line for each change of what is active, and none for a use of it, or for the same again', async () => {
  const lines: (readonly [string, unknown])[] = []
  const add = (fields: object, message: string): void => {
    if (message.startsWith('active')) lines.push([message, { ...fields }])
  }
  const script = [
    calls(['choose', { projectId: 'p-22' }]),
    'Chosen.',
    calls(['choose', { projectId: 'p-22' }]),
    'Again.',
  ]
  const { agent, clock } = bench({
    script,
    name: 'clerk',
    tools: [choose],
    entities: [project, task],
    logger: { info: add, warn: add, error: add },
  })
  await agent.select(
    project.select('p-11', { label: 'Champigny' }),
    task.select(['t-1', 't-2'], { labels: ['Roof', 'Door'], parent: 'p-11' }),
  )
  await agent.input('Choose p-22')
  clock.advance(3_600_000)
  await agent.input('Choose p-22 again')
  await agent.select(project.select())
  const place = { agent: 'clerk', contextId: 'talk' }
  expect(lines).toEqual([
    [
      'active: project Champigny (p-11), task Roof (t-1), task Door (t-2)',
      { ...place, turn: 0, by: 'select', active: { project: ['p-11'], task: ['t-1', 't-2'] } },
    ],
    ['active: project Bureau (p-22)', { ...place, turn: 1, by: 'choose', active: { project: ['p-22'] } }],
    ['active: none', { ...place, turn: 0, by: 'select', active: {} }],
  ])
})
