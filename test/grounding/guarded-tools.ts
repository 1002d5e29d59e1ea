/** Tools shared by the tests of the guard: one that lists things, and ones that record their input. */
import { z } from 'zod'
import { type Entity, entity } from '../../src/grounding/index.ts'
import type { JsonObject, Sighting } from '../../src/protocol/index.ts'
import { defineTool, type StandardSchema, type Tool } from '../../src/tool/index.ts'

export function listing<Row>(
  name: string,
  rows: readonly Row[],
  returns: (rows: readonly Row[]) => readonly Sighting[],
): Tool {
  return defineTool({
    name,
    description: 'Lists things.',
    input: z.object({}),
    replay: 'safe',
    run: () => rows,
    returns,
  })
}

/** A tool, and every input of its runs. */
export function recording<Input extends JsonObject>(
  name: string,
  input: StandardSchema<unknown, Input>,
  more: { readonly approve?: 'always'; readonly parameters?: JsonObject } = {},
): { readonly tool: Tool; readonly ran: Input[] } {
  const ran: Input[] = []
  const run = (value: Input): string => {
    ran.push(value)
    return 'ok'
  }
  return { ran, tool: defineTool({ name, description: 'Does something.', input, run, ...more }) }
}

export const order: Entity = entity('order', { pattern: /ord_\d+/, ttl: '7h' })

/** A tool that cancels an order, and the ids of the cancelled orders. */
export function cancelTool(): { readonly cancel: Tool; readonly cancelled: string[] } {
  const cancelled: string[] = []
  const cancel = defineTool({
    name: 'cancel',
    description: 'Cancels an order.',
    input: z.object({ orderId: z.string().meta(order.id()) }),
    run: ({ orderId }) => void cancelled.push(orderId),
  })
  return { cancel, cancelled }
}
