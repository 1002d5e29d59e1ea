/** The wiring of the tour with a tool whose ids have no mark: the guard does not look at them. */
import { defineTool, type Tool } from 'holdfast'
import { z } from 'zod'
import { openWiring as openTour, type TourWiring } from '../../scripts/tour/wiring.ts'

export function openWiring(home: string): TourWiring {
  const wiring = openTour(home)
  const tools = wiring.agent.tools as readonly Tool[]
  const guarded = tools.find(({ name }) => name === 'update_task')
  const unguarded = defineTool({
    name: 'update_task',
    description: 'Updates the status of a task.',
    input: z.object({ taskId: z.string(), status: z.string() }),
    run: (input, context) => guarded?.run(input, context),
  })
  const others = tools.filter((tool) => tool !== guarded)
  return { ...wiring, agent: { ...wiring.agent, tools: [...others, unguarded] } }
}
