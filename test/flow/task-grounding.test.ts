/** Ids in a task: only those that a tool showed or the person wrote reach a tool, whatever a plan says. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { TaskAgent } from '../../src/entry/flows.ts'
import { entity, lookupTool } from '../../src/entry/grounding.ts'
import { defineTool, type Tool } from '../../src/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { call, calls, done, verdict } from './kit.ts'

const project = entity('project', { pattern: /p-\d+/ })

function site() {
  const ran: string[] = []
  const list = defineTool({
    name: 'list_tasks',
    description: 'Lists the tasks of a project.',
    input: z.object({ projectId: z.string().meta(project.id()) }),
    run: ({ projectId }) => {
      ran.push(projectId)
      return ['Roof']
    },
  })
  const find = lookupTool(project, () => [{ id: 'p-11', label: 'Champigny' }])
  return { ran, tools: [list, find] as unknown as readonly Tool[] }
}

const tasksOf = (projectId: string) => calls(call('list_tasks', { projectId }))

test('an invented id is refused, also if the plan has it; one that was looked up or that the person wrote runs', async () => {
  const { ran, tools } = site()
  const model = new ScriptedModel([
    '1. List the tasks of p-99.',
    tasksOf('p-99'),
    calls(call('find_project', { name: 'champigny' })),
    tasksOf('p-11'),
    tasksOf('p-22'),
    done('Roof'),
    verdict(true),
  ])
  const agent = new TaskAgent({ model, tools, entities: [project], verbose: false })
  const results = await agent.run('List the tasks of Champigny and of p-22')
  expect(results).toMatchObject({ ended: 'verified', finalAnswer: 'Roof' })
  expect(ran).toEqual(['p-11', 'p-22'])
  const [refused] = results.messages.filter(({ role }) => role === 'tool')
  expect(refused?.content).toMatchObject([
    {
      status: 'rejected',
      output: { error: 'ungrounded', reason: 'unknown', next: { tool: 'find_project' } },
    },
  ])
})

test('the agent has the rules in its prompts, in the language that you set; other nodes do not', async () => {
  const { tools } = site()
  const model = new ScriptedModel([
    'P',
    calls(call('find_project', { name: 'champigny' })),
    done('Found'),
    verdict(true),
  ])
  const grounding = { language: 'fr' }
  await new TaskAgent({ model, tools, entities: [project], grounding, verbose: false }).run('Find it')
  const prompts = model.calls.map(({ prompt }) => JSON.stringify(prompt))
  expect(prompts.map((prompt) => prompt.includes('# État explicite et contexte'))).toEqual([
    false,
    true,
    true,
    false,
  ])
})
