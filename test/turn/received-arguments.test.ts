/** Arguments exist as the model wrote them and as the tool receives them: an approval, and a repetition, mean the latter. */
import { Agent, type AgentConfig, defineTool, LOCAL_OWNER, memoryStore, type TurnOutcome } from 'holdfast'
import { ScriptedModel, type ScriptedStep } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

const paying = (...all: object[]): ScriptedStep[] => [
  ...all.map((args): ScriptedStep => ({ calls: [{ tool: 'pay', args: args as never }] })),
  'Done.',
]

describe('a hook that writes into the values that it is given', () => {
  const at = {
    afterLlm: ({ reply }: { reply: { calls: readonly { args: unknown }[] } }) => reply.calls[0],
    beforeTools: ({ pending }: { pending: readonly { args: unknown }[] }) => pending[0],
    beforeEachTool: ({ pending }: { pending: { args: unknown } }) => pending,
  }
  it.each(Object.keys(at) as (keyof typeof at)[])('fails in %s, and changes no call', async (name) => {
    const { agent, ran } = payer(paying({ n: 99 }), {
      on: { [name]: (context: never) => void (((at[name](context)?.args ?? {}) as { n: number }).n = 1) },
    })
    await agent.executeTurn('go').outcome
    expect(ran).not.toContainEqual({ n: 1 })
    await agent.shutdown()
  })

  it('fails in afterEachTool, and the model reads the result', async () => {
    const store = memoryStore()
    const { agent } = payer(paying({ n: 1 }), {
      store,
      on: { afterEachTool: ({ result }) => void ((result.output as { paid: unknown }).paid = 'forged') },
    })
    expect(await agent.executeTurn('go').outcome).toMatchObject({ status: 'failed' })
    expect(JSON.stringify(await store.read({ ...LOCAL_OWNER, contextId: 'c' }))).not.toContain('forged')
    await agent.shutdown()
  })

  it.each(['prompt', 'messages'] as const)(
    'fails in beforeLlm with %s, and the model reads the message',
    async (from) => {
      const model = new ScriptedModel(['Done.'])
      const { agent } = payer(model, {
        on: {
          async beforeLlm({ prompt, messages }) {
            const [first] = from === 'prompt' ? prompt.messages : await messages()
            Object.assign(first ?? {}, { content: 'forged' })
          },
        },
      })
      await agent.executeTurn('go').outcome
      expect(JSON.stringify(model.calls)).not.toContain('forged')
      await agent.shutdown()
    },
  )
})

describe('a call whose outcome is unknown', () => {
  it.each([
    [
      'a default that is written out',
      {
        input: z.object({ n: z.number(), note: z.string().default('x') }),
        args: [{ n: 1 }, { n: 1, note: 'x' }],
      },
    ],
    [
      'a set beside',
      {
        input: z.object({ n: z.coerce.number(), all: z.array(z.string()).transform((all) => new Set(all)) }),
        args: [
          { n: 1, all: ['a', 'a'] },
          { n: '1', all: ['a'] },
        ],
      },
    ],
    ['a number as text', { input: z.object({ n: z.coerce.number() }), args: [{ n: 1 }, { n: '1' }] }],
    [
      'a field that the schema drops',
      { input: z.object({ n: z.number() }), args: [{ n: 1 }, { n: 1, why: 'again' }] },
    ],
    [
      'a blank that is trimmed',
      { input: z.object({ to: z.string().trim() }), args: [{ to: 'Ann' }, { to: 'Ann ' }] },
    ],
  ])('is not repeated unasked with %s', async (_, { input, args }) => {
    const ran: unknown[] = []
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      timeoutMs: 20,
      input: input as z.ZodType<Record<string, unknown>>,
      run: async (received) => {
        ran.push(received)
        if (ran.length === 1) await new Promise(() => {})
        return 'paid'
      },
    })
    const model = new ScriptedModel(paying(...args))
    const agent = new Agent({ contextId: 'c', graceMs: 10, tools: [pay], model })
    const outcome = await agent.executeTurn('go').outcome
    expect({ ran: ran.length, status: outcome.status }).toEqual({ ran: 1, status: 'input-required' })
    await agent.answer({ [requestOf(outcome)]: true }).outcome
    expect(ran).toHaveLength(2)
    await agent.shutdown()
  })
})

describe('an approval', () => {
  it('is for the value that the person saw, whatever the schema would make next time', async () => {
    let made = 0
    const input = z.object({ n: z.number().default(() => 100 * ++made) })
    const { agent, ran } = payer(paying({}), { input })
    const asked = await agent.executeTurn('go').outcome
    expect(await agent.answer({ [requestOf(asked)]: true }).outcome).toMatchObject({ status: 'completed' })
    expect(promptsOf(asked)).toEqual(ran.map((args) => `Pay ${(args as { n: number }).n}?`))
    await agent.shutdown()
  })

  it.each([
    ['a set', () => new Set(['a'])],
    ['bytes', () => Buffer.from('a')],
    ['a class', () => new URLSearchParams('a=1')],
    ['no number', () => Number.NaN],
  ])(
    'counts in another process only as long as the question stays the same, with %s in the input',
    async (_, value) => {
      const pays = async (by: number) => {
        const store = memoryStore()
        const inputOf = (times: number) =>
          z.object({
            n: z.number().transform((n) => n * times),
            more: z
              .string()
              .default('a')
              .transform((): unknown => value()),
          })
        const before = payer(paying({ n: 99 }), { store, input: inputOf(1) })
        const asked = await before.agent.executeTurn('go').outcome
        await before.agent.shutdown()
        const after = payer(['Done.'], { store, input: inputOf(by) })
        const { status } = await after.agent.answer({ [requestOf(asked)]: true }).outcome
        await after.agent.shutdown()
        return { status, ran: after.ran.length }
      }
      expect(await pays(1)).toEqual({ status: 'completed', ran: 1 })
      expect(await pays(10)).toEqual({ status: 'input-required', ran: 0 })
    },
  )

  it('does not count for what a newer definition makes of the arguments', async () => {
    const store = memoryStore()
    const before = payer(paying({ n: 99 }), { store })
    const asked = await before.agent.executeTurn('go').outcome
    await before.agent.shutdown()
    const input = z.object({ n: z.number().transform((n) => n * 10) })
    const after = payer(['Done.'], { store, input })
    const again = await after.agent.answer({ [requestOf(asked)]: true }).outcome
    expect(promptsOf(again)).toEqual(['Pay 990?'])
    await after.agent.answer({ [requestOf(again)]: true }).outcome
    expect(after.ran).toEqual([{ n: 990 }])
    await after.agent.shutdown()
    const entries = await store.read({ ...LOCAL_OWNER, contextId: 'c' })
    expect(entries.filter(({ type }) => type === 'warning').map(({ data }) => data['code'])).toEqual([
      'approval-outdated',
    ])
  })

  it('counts where the schema makes something new that the person did not see', async () => {
    let made = 0
    const input = z.object({ n: z.number(), id: z.string().default(() => `id-${++made}`) })
    const { agent, ran } = payer(paying({ n: 99 }), { input })
    const asked = await agent.executeTurn('go').outcome
    expect(await agent.answer({ [requestOf(asked)]: true }).outcome).toMatchObject({ status: 'completed' })
    expect(ran).toEqual([{ n: 99, id: expect.stringMatching(/^id-\d$/) }])
    await agent.shutdown()
  })

  it('counts for equal arguments in another process', async () => {
    const store = memoryStore()
    const input = z.object({ n: z.number(), note: z.string().default('x') })
    const before = payer(paying({ n: 99 }), { store, input })
    const asked = await before.agent.executeTurn('go').outcome
    await before.agent.shutdown()
    const after = payer(['Done.'], { store, input })
    expect(await after.agent.answer({ [requestOf(asked)]: true }).outcome).toMatchObject({
      status: 'completed',
    })
    expect(after.ran).toEqual([{ n: 99, note: 'x' }])
    await after.agent.shutdown()
  })
})

interface Options extends Partial<Omit<AgentConfig, 'model' | 'tools'>> {
  readonly input?: z.ZodType<{ n: number }>
}

function payer(
  model: ScriptedModel | ScriptedStep[],
  { input = z.object({ n: z.number() }), ...config }: Options = {},
) {
  const ran: unknown[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    input,
    approve: ({ input: { n } }) => (n > 5 ? `Pay ${n}?` : false),
    run: (args) => {
      ran.push(args)
      return { paid: args.n }
    },
  })
  const agent = new Agent({
    contextId: 'c',
    tools: [pay],
    model: Array.isArray(model) ? new ScriptedModel(model) : model,
    ...config,
  })
  return { agent, ran }
}

function requestOf(outcome: TurnOutcome): string {
  return outcome.requests?.[0]?.requestId ?? 'no request'
}

function promptsOf(outcome: TurnOutcome): readonly unknown[] {
  return (outcome.requests ?? []).map(({ prompt }) => prompt)
}
