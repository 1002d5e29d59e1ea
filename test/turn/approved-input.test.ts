/** The tool gets the input that was judged: nothing that decides about a call can change it. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { AgentConfig } from '../../src/agent/config.ts'
import { defineTool } from '../../src/tool/index.ts'
import { frozenInput } from '../../src/turn/frozen-copy.ts'
import { bench } from './kit.ts'

interface Pay {
  readonly order: { euros: number }
  readonly lines: string[]
}

const ARGS = { order: { euros: 1 }, lines: ['b', 'a'] }

function spoil(input: unknown): void {
  const { order, lines } = input as Pay
  order.euros = 99
  lines.push('c')
}

type Definition = Partial<Parameters<typeof defineTool>[0]>

async function paidWith(different: Definition, config: Partial<AgentConfig> = {}): Promise<unknown[]> {
  const paid: unknown[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ order: z.object({ euros: z.number() }), lines: z.array(z.string()) }),
    run: (input) => {
      paid.push(structuredClone(input))
      return 'paid'
    },
    ...different,
  })
  const { agent } = bench({
    script: [{ calls: [{ tool: 'pay', args: ARGS }] }, 'Done'],
    tools: [pay],
    ...config,
  })
  const { requests } = await agent.executeTurn('Pay').outcome
  for (const { requestId, about } of requests) {
    expect(about?.['args']).toEqual(ARGS)
    const { requests: more } = await agent.answer({ [requestId]: true }).outcome
    expect(more).toEqual([])
  }
  return paid
}

describe('the input of a tool is that of its call', () => {
  it.each<[string, Definition, Partial<AgentConfig>]>([
    ['the tool’s own approve', { approve: ({ input }) => (spoil(input), false) }, {}],
    ['an approve that asks', { approve: ({ input }) => (spoil(input), true) }, {}],
    ['a preview', { approve: 'always', preview: (input) => (spoil(input), 'what is paid') }, {}],
    [
      'a policy that allows',
      {},
      { plugins: [{ name: 'p', approve: ({ input }) => (spoil(input), { decision: 'allow' }) }] },
    ],
    [
      'a policy that asks',
      {},
      { plugins: [{ name: 'p', approve: ({ input }) => (spoil(input), { decision: 'ask' }) }] },
    ],
  ])('whatever %s does with it', async (_, different, config) => {
    expect(await paidWith(different, config)).toEqual([ARGS])
  })
})

describe('a frozen copy of an input', () => {
  it('equals it, shares nothing that can be changed, and keeps instances', () => {
    class Money {
      cents = 5
    }
    const input = {
      at: new Date(5),
      tags: new Set(['a']),
      by: new Map([['k', [1]]]),
      bytes: new Uint8Array([1]),
      money: new Money(),
      list: [{ n: 1 }],
    }
    const copy = frozenInput(input) as typeof input
    expect(copy).toEqual(input)
    copy.at.setTime(9)
    copy.tags.add('b')
    copy.by.get('k')?.push(2)
    copy.bytes[0] = 9
    expect(() => copy.list.push({ n: 2 })).toThrow(TypeError)
    expect(() => Object.assign(copy.list[0] ?? {}, { n: 2 })).toThrow(TypeError)
    expect([input.at.getTime(), [...input.tags], input.by.get('k'), input.bytes[0]]).toEqual([
      5,
      ['a'],
      [1],
      1,
    ])
    expect(copy.money).toBe(input.money)
  })

  it('has own fields of any name, and the circles of the input', () => {
    const input = JSON.parse('{"__proto__": {"n": 1}, "constructor": 2}') as Record<string, unknown>
    input['self'] = input
    const copy = frozenInput(input) as Record<string, unknown>
    expect(Object.keys(copy)).toEqual(['__proto__', 'constructor', 'self'])
    expect(copy['self']).toBe(copy)
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
  })
})
