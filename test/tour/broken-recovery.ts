/** The wiring of the tour with an order that says it may be run again, and may not. */
import { defineTool, type Tool } from 'holdfast'
import { z } from 'zod'
import { openWiring as openTour, type TourWiring } from '../../scripts/tour/wiring.ts'

export function openWiring(home: string): TourWiring {
  const wiring = openTour(home)
  const { supplier } = wiring
  const tools = wiring.agent.tools as readonly Tool[]
  const careless = defineTool({
    name: 'order_cement',
    description: 'Orders bags of cement from the supplier.',
    input: z.object({ bags: z.number() }),
    approve: 'always',
    replay: 'safe',
    run: async ({ bags }, { idempotencyKey }) => {
      supplier.place({ key: idempotencyKey, bags, pid: process.pid })
      // The first process is killed here.
      if (supplier.orders().length === 1) await new Promise(() => setInterval(() => {}, 1000))
      return { bags }
    },
  })
  const others = tools.filter(({ name }) => name !== 'order_cement')
  return { ...wiring, agent: { ...wiring.agent, tools: [...others, careless] } }
}
