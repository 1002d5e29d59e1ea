/**
 * A config for the terminal: an agent for a building site. `npm start` talks with it, and so does
 * `holdfast chat` in this folder. It needs no key: without one, the built-in model reflex chooses tools by rules.
 */
import { defineTool } from 'holdfast'
import { defineConfig, type HoldfastConfig } from 'holdfast/config'
import { z } from 'zod'

const TASKS = [
  { id: 'T1', name: 'Roof', status: 'open', crew: 'Nadia' },
  { id: 'T2', name: 'Windows', status: 'open', crew: 'Ines' },
  { id: 'T3', name: 'Foundation', status: 'done', crew: 'Nadia' },
]

const listTasks = defineTool({
  name: 'list_tasks',
  description: 'Lists the tasks of the building site, all of them or those of one status.',
  input: z.object({ status: z.enum(['open', 'done']).optional() }),
  replay: 'safe',
  run: ({ status }) => ({ tasks: TASKS.filter((task) => status === undefined || task.status === status) }),
  display: ({ tasks }) => tasks.map(({ name }) => name).join(', '),
})

const inspectTask = defineTool({
  name: 'inspect_task',
  description: 'Inspects a task on the site, which takes a moment.',
  input: z.object({ taskId: z.string() }),
  replay: 'safe',
  run: async ({ taskId }, { progress, signal }) => {
    for (const part of ['walking over', 'looking', 'taking a photo']) {
      progress(part)
      await new Promise((resolve) => setTimeout(resolve, 400))
      signal.throwIfAborted()
    }
    const task = TASKS.find(({ id }) => id === taskId)
    if (task === undefined) throw new Error(`There is no task ${taskId}.`)
    return { task: task.name, finding: task.status === 'done' ? 'solid' : 'not finished' }
  },
  display: ({ task, finding }) => `${task}: ${finding}`,
})

const orderCement = defineTool({
  name: 'order_cement',
  description: 'Orders bags of cement.',
  input: z.object({ bags: z.number().int().min(1) }),
  approve: ({ input }) => (input.bags > 10 ? `Order ${input.bags} bags of cement?` : false),
  run: ({ bags }, { idempotencyKey }) => ({ ordered: bags, reference: idempotencyKey.slice(-4) }),
  display: ({ ordered }) => `${ordered} bags are on their way`,
})

const config: HoldfastConfig = defineConfig({
  agents: {
    site: {
      systemPrompt: 'You help the foreman of a building site. Be brief.',
      tools: [listTasks, inspectTask, orderCement],
    },
  },
})

export default config
