/**
 * The supplier of a building firm, and the tool that orders from it. The supplier keeps its own record of orders, a line
 * of JSON each, and confirms them late.
 */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { defineTool, type Tool } from 'holdfast'
import { z } from 'zod'

export interface Order {
  /** The idempotency key of the call that ordered. */
  readonly key: string
  readonly bags: number
  /** The process that ordered. */
  readonly pid: number
}

export interface Supplier {
  readonly orders: () => readonly Order[]
  readonly place: (order: Order) => void
}

/** A file is enough to outlive the process that orders. */
export function openSupplier(path: string): Supplier {
  return {
    orders: () => {
      const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []
      return lines.map((line) => JSON.parse(line) as Order)
    },
    place: (order) => {
      mkdirSync(dirname(path), { recursive: true })
      const file = openSync(path, 'a')
      writeSync(file, `${JSON.stringify(order)}\n`)
      fsyncSync(file)
      closeSync(file)
    },
  }
}

const FREE_BAGS = 10

/**
 * Many bags need approval. The effect never runs twice: after a crash, `verify` looks up the call in the supplier's
 * record.
 * @param confirmMs the time until the supplier confirms an order
 */
export function orderTool(supplier: Supplier, confirmMs: number): Tool {
  return defineTool({
    name: 'order_cement',
    description: 'Orders bags of cement from the supplier.',
    input: z.object({ bags: z.number().int().positive().describe('How many bags') }),
    approve: ({ input }) => (input.bags > FREE_BAGS ? `Order ${input.bags} bags of cement?` : false),
    verify: (_, { idempotencyKey }) => {
      const order = supplier.orders().find(({ key }) => key === idempotencyKey)
      return order === undefined
        ? { happened: false }
        : { happened: true, output: { bags: order.bags, confirmed: 'after a crash' } }
    },
    run: async ({ bags }, { idempotencyKey, progress, signal }) => {
      supplier.place({ key: idempotencyKey, bags, pid: process.pid })
      progress('the supplier has the order; waiting for the confirmation')
      await wait(confirmMs, undefined, { signal })
      return { bags, confirmed: 'at once' }
    },
    display: ({ bags, confirmed }) =>
      `${bags} bags of cement are ordered${confirmed === 'at once' ? '' : ', as the supplier says'}`,
  })
}
