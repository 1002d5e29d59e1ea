/** "Since the selection" follows the order of the journal: neither equal nor wrong times matter. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { entity } from '../../src/grounding/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tool/index.ts'
import { bench, calls } from '../turn/kit.ts'

const site = entity('site', { pattern: /site_\d+/ })
const order = entity('order', { pattern: /ord_\d+/, parent: site })
const entities = [site, order]

function shop() {
  const cancelled: string[] = []
  const tools = [
    defineTool({
      name: 'cancel',
      description: 'Cancels an order.',
      input: z.object({ orderId: z.string().meta(order.id()) }),
      run: ({ orderId }) => void cancelled.push(orderId),
    }),
    defineTool({
      name: 'list',
      description: 'Lists orders.',
      input: z.object({}),
      run: () => ['ord_1', 'ord_2'],
      returns: (rows) => order.rows(rows, { id: '$value', parent: (id) => id.replace('ord', 'site') }),
    }),
    defineTool({
      name: 'pick',
      description: 'Picks the first order, for the person.',
      input: z.object({}),
      run: () => ['ord_1', 'ord_2'],
      returns: (rows) => order.rows(rows, { id: '$value' }),
      selects: ([id = '']) => [order.select(id, { by: 'person' })],
    }),
  ]
  return { cancelled, tools }
}

const cancelSecond = calls(['cancel', { orderId: 'ord_2' }])

/** The store's clock is ahead of the process's, or is the same and stands still. */
describe.each([
  ['the same millisecond', () => undefined],
  ['a store whose clock is ahead', () => memoryStore({ clock: new ManualClock(9000) })],
  ['a store whose clock is behind', () => memoryStore({ clock: new ManualClock(10) })],
])('in %s', (_name, open) => {
  const start = (
    script: Parameters<typeof bench>[0] extends infer O | undefined ? NonNullable<O> : never,
  ) => {
    const store = open()
    const { cancelled, tools } = shop()
    return { cancelled, ...bench({ ...script, tools, entities, ...(store === undefined ? {} : { store }) }) }
  }

  it('a thing that was shown before the choice is not the chosen one', async () => {
    const { agent, cancelled } = start({ script: [calls('list'), 'There.', cancelSecond, 'No.'] })
    await agent.input('List them')
    await agent.select(order.select('ord_1'))
    await agent.input('Cancel it')
    expect(cancelled).toEqual([])
  })

  it('a thing that was shown after the choice may be meant', async () => {
    const { agent, cancelled } = start({ script: [calls('list'), 'There.', cancelSecond, 'Done.'] })
    await agent.select(order.select('ord_1'))
    await agent.input('List them')
    await agent.input('Cancel the other one')
    expect(cancelled).toEqual(['ord_2'])
  })

  it('a list that came with the choice was shown before it', async () => {
    const { agent, cancelled } = start({ script: [calls('pick'), 'There.', cancelSecond, 'No.'] })
    await agent.input('Pick the first')
    await agent.input('Cancel it')
    expect(cancelled).toEqual([])
  })

  it('words before the choice do not count against it, words after it do', async () => {
    for (const [isBefore, wanted] of [
      [true, []],
      [false, ['ord_2']],
    ] as const) {
      const { agent, cancelled } = start({ script: ['Hm.', cancelSecond, 'Hm.'] })
      if (!isBefore) await agent.select(order.select('ord_1'))
      await agent.input('There is ord_2')
      if (isBefore) await agent.select(order.select('ord_1'))
      await agent.input('Cancel it')
      expect(cancelled).toEqual(wanted)
    }
  })

  it('parts of another thing than the chosen one count if they were shown after the choice', async () => {
    for (const [isBefore, wanted] of [
      [true, []],
      [false, ['ord_2']],
    ] as const) {
      const { agent, cancelled } = start({ script: [calls('list'), 'There.', cancelSecond, 'Hm.'] })
      if (!isBefore) await agent.select(site.select('site_1'))
      await agent.input('List them')
      if (isBefore) await agent.select(site.select('site_1'))
      await agent.input('Cancel it')
      expect(cancelled).toEqual(wanted)
    }
  })

  it('a choice that is used, or made again, keeps or takes its place', async () => {
    const script = [
      calls('list'),
      'There.',
      calls(['cancel', { orderId: 'ord_1' }]),
      'Done.',
      cancelSecond,
      'Hm.',
    ]
    const used = start({ script })
    await used.agent.select(order.select('ord_1'))
    await used.agent.input('List them')
    used.clock.advance(120_000)
    await used.agent.input('Cancel it')
    await used.agent.input('And the other one')
    expect(used.cancelled).toEqual(['ord_1', 'ord_2'])
    const again = start({ script: [calls('list'), 'There.', cancelSecond, 'No.'] })
    await again.agent.select(order.select('ord_1'))
    await again.agent.input('List them')
    await again.agent.select(order.select('ord_1'))
    await again.agent.input('Cancel it')
    expect(again.cancelled).toEqual([])
  })

  it('a fork keeps the order', async () => {
    const { agent, cancelled } = start({
      script: [calls('list'), 'There.', cancelSecond, cancelSecond, 'Done.'],
    })
    await agent.select(order.select('ord_1'))
    await agent.input('List them')
    const fork = await agent.fork('branch')
    await fork.input('Cancel the other one')
    expect(cancelled).toContain('ord_2')
  })
})
