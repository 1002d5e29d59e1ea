/** Effects of nodes run once, whatever happens to the node, and no outcome is claimed without evidence. */
import { describe, expect, it } from 'vitest'
import { agentNode, settleCall } from '../../src/agent/index.ts'
import {
  type Channels,
  END,
  type Graph,
  graph,
  list,
  type NodeContext,
  START,
  type StepOptions,
  value,
} from '../../src/graph/index.ts'
import { loadSession } from '../../src/journal/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'

const state = { notes: list<string>() }
const contextId = 'c'
const key = { ...LOCAL_OWNER, contextId }

type Work = (context: NodeContext) => Promise<string>

function single(
  work: Work,
  options: { store?: Store; retry?: number; timeoutMs?: number; graceMs?: number } = {},
): Graph<typeof state> {
  const { store = memoryStore(), retry, timeoutMs, graceMs } = options
  return graph({ state })
    .addNode('work', async (_, context) => ({ notes: await work(context) }), {
      ...(retry === undefined ? {} : { retry: { attempts: retry, waitMs: 0 } }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    })
    .addEdge(START, 'work')
    .addEdge('work', END)
    .compile({ store, ...(graceMs === undefined ? {} : { graceMs }) })
}

async function effectsOf(store: Store): Promise<string[]> {
  const entries = await store.read(key)
  return entries.flatMap(({ type, data }) =>
    type.startsWith('effect.')
      ? [`${type} ${data['callId'] as string} ${(data['status'] as string) ?? ''}`.trim()]
      : [],
  )
}

/** An open run whose effect was started by a process that is gone. */
async function begunElsewhere<C extends Channels>(
  flow: Graph<C>,
  { store, replay = 'never' }: { store: Store; replay?: string },
): Promise<void> {
  const entries = [
    { type: 'turn.start', turn: 1, data: { principal: LOCAL_OWNER }, takes: ['in'] },
    {
      type: 'graph.start',
      turn: 1,
      data: { graph: 'graph', channels: { notes: 'list' }, update: {}, changes: { notes: [] } },
    },
    { type: 'graph.step', turn: 1, data: { tasks: [{ task: 'work.1', node: 'work' }] } },
    {
      type: 'effect.start',
      turn: 1,
      data: { callId: 'work.1/pay', task: 'work.1', key: 'pay', idempotencyKey: 'k', replay },
    },
    { type: 'release', turn: 1, data: { reason: 'gone' } },
  ]
  await store.append({
    key,
    id: 'elsewhere',
    since: 0,
    inbox: [{ type: 'input', key: 'in', data: { values: {} } }],
    claim: { driver: 'elsewhere', leaseMs: 1000 },
    entries,
  })
  expect(flow.name).toBe('graph')
}

describe('a step', () => {
  it('is durable before it begins, and is not taken again when its node is', async () => {
    const store = memoryStore()
    let paid = 0
    const flow = single(
      async ({ step, interrupt }) => {
        const receipt = await step('pay', async () => {
          expect((await effectsOf(store)).at(-1)).toBe('effect.start work.1/pay')
          paid += 1
          return { number: 7 }
        })
        const tip = await interrupt({ kind: 'text', prompt: 'How much more?' })
        return `${receipt.number} and ${tip}`
      },
      { store },
    )
    const { requests } = await flow.invoke({}, { contextId })
    const { state: reached } = await flow.answer({ [requests[0]?.requestId ?? '']: 'two' }, { contextId })
      .outcome
    expect([reached.notes, paid]).toEqual([['7 and two'], 1])
    expect(await effectsOf(store)).toEqual(['effect.start work.1/pay', 'effect.end work.1/pay ok'])
  })

  it('gives what was stored of it, the first time as well', async () => {
    let given: unknown
    const flow = single(async ({ step }) => {
      given = await step('look', () => ({ when: new Date(0), nothing: undefined }))
      return 'seen'
    })
    await flow.invoke({})
    expect(given).toEqual({ when: '1970-01-01T00:00:00.000Z' })
  })

  it('throws what its effect threw; another attempt of the node takes it again, and only it', async () => {
    const store = memoryStore()
    const done: string[] = []
    const flow = single(
      async ({ step, attempt }) => {
        await step('first', () => void done.push('first'))
        await step('second', () => {
          done.push(`second ${attempt}`)
          if (attempt === 1) throw new Error('not now')
        })
        return 'done'
      },
      { store, retry: 2 },
    )
    expect((await flow.invoke({}, { contextId })).state.notes).toEqual(['done'])
    expect(done).toEqual(['first', 'second 1', 'second 2'])
    expect(await effectsOf(store)).toEqual([
      'effect.start work.1/first',
      'effect.end work.1/first ok',
      'effect.start work.1/second',
      'effect.end work.1/second error',
      'effect.start work.1/second/2',
      'effect.end work.1/second/2 ok',
    ])
  })

  it('has a key that services can tell it by, in every conversation another one', async () => {
    const keys: string[] = []
    const flow = single(({ step }) =>
      step('pay', ({ idempotencyKey }) => void keys.push(idempotencyKey)).then(() => ''),
    )
    await flow.invoke({}, { contextId: 'a' })
    await flow.invoke({}, { contextId: 'b' })
    expect(keys).toEqual([
      expect.stringMatching(/^a\/work\.1\/pay\/effect_/),
      expect.stringMatching(/^b\/work\.1\/pay\/effect_/),
    ])
  })

  it('has another key in a fresh store, although the conversation has the same name', async () => {
    const keys: string[] = []
    for (const store of [memoryStore(), memoryStore()]) {
      const work: Work = ({ step }) => step('pay', ({ idempotencyKey }) => (keys.push(idempotencyKey), ''))
      const flow = single(work, { store })
      await flow.invoke({}, { contextId: 'order-7' })
    }
    expect(new Set(keys).size).toBe(2)
  })

  it('keeps its key when it is run again after a crash', async () => {
    const keys: string[] = []
    const store = memoryStore()
    const work: Work = ({ step }) =>
      step('pay', ({ idempotencyKey }) => (keys.push(idempotencyKey), ''), { replay: 'safe' })
    const flow = single(work, { store })
    await begunElsewhere(flow, { store, replay: 'safe' })
    await flow.invoke(null, { contextId })
    expect(keys).toEqual(['k'])
  })

  it.each([
    [
      'the same key twice',
      async ({ step }: NodeContext) => [await step('a', () => 1), await step('a', () => 2)],
      'two steps with the key "a"',
    ],
    ['no key', ({ step }: NodeContext) => step('', () => 1), 'must be a text without /'],
    ['no function', ({ step }: NodeContext) => step('a', 7 as never), 'no function to run'],
    [
      'an unknown class',
      ({ step }: NodeContext) => step('a', () => 1, { replay: 'maybe' as never }),
      'replay must be never or safe, not "maybe".',
    ],
  ])('is refused with %s', async (_, work, message) => {
    const { error } = await single(async (context) => String(await work(context))).stream({}).outcome
    expect(error?.message).toContain(message)
  })

  it('cannot be begun by a node that nobody waits for any more', async () => {
    const store = memoryStore()
    const refused = Promise.withResolvers<unknown>()
    const flow = single(
      async ({ step }) => {
        await new Promise((resolve) => setTimeout(resolve, 60))
        await step('pay', () => 'paid').catch(refused.resolve)
        return 'late'
      },
      { store, timeoutMs: 10 },
    )
    expect((await flow.stream({}, { contextId }).outcome).error?.code).toBe('timeout')
    expect(await refused.promise).toMatchObject({ code: 'cancelled' })
    expect(await effectsOf(store)).toEqual([])
  })
})

describe('a late result that was too large to be stored', () => {
  it('fails the step instead of passing its beginning for the whole', async () => {
    const store = memoryStore()
    let paid = 0
    const flow = single(({ step }) => step('pay', () => `receipt ${++paid}`), { store })
    await begunElsewhere(flow, { store })
    expect((await flow.stream(null, { contextId }).outcome).error?.code).toBe('unknown-outcome')
    const late = { callId: 'work.1/pay', status: 'ok', output: { notice: 'The call went well.' }, cut: true }
    const inbox = [{ type: 'late-result', key: 'late', data: late }] as const
    await store.append({ key, id: 'late', since: 0, inbox })
    for (const attempt of [1, 2]) {
      const { error, state: reached } = await flow.stream(null, { contextId }).outcome
      expect([attempt, error?.code, reached.notes, paid]).toEqual([attempt, 'too-large', [], 0])
    }
  })
})

describe('a step that was cut off', () => {
  it('by a cancel is taken again when the run is told to go on; what went well is not', async () => {
    const store = memoryStore()
    const begun = Promise.withResolvers<void>()
    const done: string[] = []
    let isQuick = false
    const flow = single(
      async ({ step }) => {
        await step('first', () => void done.push('first'))
        return step('second', async ({ signal }) => {
          done.push('second')
          begun.resolve()
          if (!isQuick) await new Promise((_, reject) => signal.addEventListener('abort', reject))
          return 'done'
        })
      },
      { store },
    )
    const run = flow.stream({}, { contextId })
    await begun.promise
    await run.cancel()
    expect((await run.outcome).status).toBe('cancelled')
    isQuick = true
    expect((await flow.invoke(null, { contextId })).state.notes).toEqual(['done'])
    expect(done).toEqual(['first', 'second', 'second'])
  })

  it('in a node that then asks is not taken again because there is an answer', async () => {
    let tried = 0
    const flow = single(async ({ step, interrupt }) => {
      const said = await step('look', () => {
        tried += 1
        throw new Error('nothing there')
      }).catch((error: unknown) => (error as Error).message)
      return `${said}, ${await interrupt({ kind: 'text', prompt: 'And now?' })}`
    })
    const { requests } = await flow.invoke({}, { contextId })
    const { state: reached } = await flow.answer({ [requests[0]?.requestId ?? '']: 'go' }, { contextId })
      .outcome
    expect([reached.notes, tried]).toEqual([['nothing there, go'], 1])
  })
})

describe('a step that a process began which is gone', () => {
  const taken = async (options: StepOptions<string>, begun: string = options.replay ?? 'never') => {
    const store = memoryStore()
    let runs = 0
    const flow = single(
      ({ step }) =>
        step(
          'pay',
          () => {
            runs += 1
            return 'paid now'
          },
          options,
        ),
      { store },
    )
    await begunElsewhere(flow, { store, replay: begun })
    const { status, error, state: reached } = await flow.stream(null, { contextId }).outcome
    return { status, code: error?.code, notes: reached.notes, runs, store, flow }
  }

  it('is unknown, and is not done again', async () => {
    expect(await taken({})).toMatchObject({ status: 'failed', code: 'unknown-outcome', runs: 0 })
  })

  it('is done again if that is safe, and was when it began', async () => {
    expect(await taken({ replay: 'safe' })).toMatchObject({ notes: ['paid now'], runs: 1 })
    expect(await taken({ replay: 'safe' }, 'never')).toMatchObject({ code: 'unknown-outcome', runs: 0 })
    expect(await taken({ replay: 'never' }, 'safe')).toMatchObject({ code: 'unknown-outcome', runs: 0 })
  })

  it('is what can be found out about it', async () => {
    const happened = () => ({ happened: true, output: 'paid before' }) as const
    expect(await taken({ verify: happened })).toMatchObject({ notes: ['paid before'], runs: 0 })
    expect(await taken({ verify: () => ({ happened: false }) })).toMatchObject({
      notes: ['paid now'],
      runs: 1,
    })
    expect(await taken({ verify: () => ({ happened: 'unknown' }) })).toMatchObject({
      code: 'unknown-outcome',
      runs: 0,
    })
  })

  it('is verified once and done once, although its node times out and is tried again meanwhile', async () => {
    const store = memoryStore()
    const verified = Promise.withResolvers<void>()
    let [attempts, verifies, runs] = [0, 0, 0]
    const verify = async () => {
      verifies += 1
      await verified.promise
      return { happened: false } as const
    }
    const work: Work = ({ step, attempt }) => {
      attempts = attempt
      return step('pay', () => `paid ${++runs}`, { verify })
    }
    const flow = single(work, { store, retry: 1000, timeoutMs: 30, graceMs: 1 })
    await begunElsewhere(flow, { store })
    const run = flow.stream(null, { contextId })
    await expect.poll(() => attempts).toBeGreaterThan(2)
    verified.resolve()
    const { state: reached } = await run.outcome
    expect([reached.notes, verifies, runs]).toEqual([['paid 1'], 1, 1])
    expect(await effectsOf(store)).toEqual(['effect.start work.1/pay', 'effect.end work.1/pay ok'])
  })

  it('is not done any more if the run has gone on without it while it was verified', async () => {
    const store = memoryStore()
    const verified = Promise.withResolvers<void>()
    const refused = Promise.withResolvers<unknown>()
    let runs = 0
    const verify = async () => {
      await verified.promise
      return { happened: false } as const
    }
    const flow = graph({ state })
      .addNode(
        'work',
        async (_, { step, attempt }) => {
          if (attempt === 1) await step('pay', () => ++runs, { verify }).catch(refused.resolve)
        },
        { timeoutMs: 10, retry: { attempts: 2, waitMs: 0 } },
      )
      .addNode('after', async () => {
        verified.resolve()
        await refused.promise
      })
      .addEdge(START, 'work')
      .addEdge('work', 'after')
      .addEdge('after', END)
      .compile({ store, graceMs: 1 })
    await begunElsewhere(flow, { store })
    expect((await flow.stream(null, { contextId }).outcome).status).toBe('completed')
    expect([await refused.promise, runs]).toMatchObject([{ code: 'cancelled' }, 0])
    expect(await effectsOf(store)).toEqual(['effect.start work.1/pay', 'effect.end work.1/pay unknown'])
  })

  it('is what a person says of it afterwards, and the run goes on from there', async () => {
    const { store, flow } = await taken({})
    await settleCall(store, key, { callId: 'work.1/pay', status: 'ok', output: 'paid, says the bank' })
    const { status, state: reached } = await flow.invoke(null, { contextId })
    expect([status, reached.notes]).toEqual(['completed', ['paid, says the bank']])
  })

  it('can be caught by its node, which knows best', async () => {
    const store = memoryStore()
    const flow = single(
      ({ step }) =>
        step('pay', () => 'paid').catch(
          (error: unknown) => `asked the bank: ${(error as { code: string }).code}`,
        ),
      { store },
    )
    await begunElsewhere(flow, { store })
    expect((await flow.invoke(null, { contextId })).state.notes).toEqual(['asked the bank: unknown-outcome'])
  })
})

describe('an agent inside of a node', () => {
  it('is found again where it was when the node is run again', async () => {
    const model = new ScriptedModel(['Yes.'])
    const decide = agentNode({ model })
    const flow = single(async ({ run, interrupt }) => {
      const said = await run('decide', decide, 'Is it clear?')
      return `${said} ${await interrupt({ kind: 'text', prompt: 'Sure?' })}`
    })
    const { requests } = await flow.invoke({}, { contextId })
    const { state: reached } = await flow.answer({ [requests[0]?.requestId ?? '']: 'Sure.' }, { contextId })
      .outcome
    expect(reached.notes).toEqual(['Yes. Sure.'])
    model.done()
  })

  it('is asked anew when the node is tried again', async () => {
    const model = new ScriptedModel([{ error: { status: 400, message: 'No.' } }, 'Now it works.'])
    const flow = single(({ run }) => run('', agentNode({ model }), 'Try.'), { retry: 2 })
    expect((await flow.invoke({})).state.notes).toEqual(['Now it works.'])
    model.done()
  })
})

describe('a graph inside of a node', () => {
  const booking = (store: Store, { fails, retry }: { fails: number; retry: number }) => {
    const keys: string[] = []
    let booked = 0
    const inner = graph({ name: 'inner', state })
      .addNode('pay', async (_, { step }) => {
        await step('pay', ({ idempotencyKey }) => void keys.push(idempotencyKey))
        return { notes: 'paid' }
      })
      .addNode('book', () => {
        booked += 1
        if (booked <= fails) throw new Error('No room.')
        return { notes: 'booked' }
      })
      .addEdge(START, 'pay')
      .addEdge('pay', 'book')
      .addEdge('book', END)
      .compile()
    const flow = graph({ state })
      .addNode('trip', inner, { retry: { attempts: retry, waitMs: 0 } })
      .addEdge(START, 'trip')
      .addEdge('trip', END)
      .compile({ store })
    return { flow, keys }
  }

  it('goes on where it failed when the node is tried again', async () => {
    const { flow, keys } = booking(memoryStore(), { fails: 2, retry: 3 })
    expect((await flow.invoke({}, { contextId })).state.notes).toEqual(['paid', 'booked'])
    expect(keys).toEqual([expect.stringMatching(/^c\/trip\.1\/pay\.1\/pay\/effect_/)])
  })

  it('does so when the run is told to go on', async () => {
    const { flow, keys } = booking(memoryStore(), { fails: 2, retry: 1 })
    expect((await flow.stream({}, { contextId }).outcome).status).toBe('failed')
    expect((await flow.stream(null, { contextId }).outcome).status).toBe('failed')
    expect((await flow.invoke(null, { contextId })).state.notes).toEqual(['paid', 'booked'])
    expect(keys).toHaveLength(1)
  })
})

describe('what is used below', () => {
  it('counts once, whichever attempt it was used by', async () => {
    const say = (text: string) => agentNode({ model: new ScriptedModel([text]) })
    const flow = single(
      async ({ run, attempt }) => {
        await run('always', say('Hm.'), 'Hm?')
        await run(`only-${attempt}`, say('Well.'), 'Well?')
        if (attempt === 1) throw new Error('once more')
        return 'done'
      },
      { retry: 2 },
    )
    const { usage } = await flow.invoke({}, { contextId })
    const { heads } = await flow.store.list({ owner: LOCAL_OWNER, parent: contextId })
    const below = await Promise.all(heads.map((head) => loadSession(flow.store, head.key)))
    expect(below).toHaveLength(3)
    expect(usage.inputTokens).toBe(below.reduce((sum, { totals }) => sum + totals.usage.inputTokens, 0))
  })
})

describe('what is below and stopped by a limit', () => {
  it('is not taken as done: the run stops there, and null goes on with it', async () => {
    let count = 0
    const inner = graph({ name: 'inner', state })
      .addNode('again', () => ({ notes: `${++count}` }))
      .addEdge(START, 'again')
      .addConditionalEdges('again', ({ notes }) => (notes.length < 5 ? 'more' : 'enough'), {
        more: 'again',
        enough: END,
      })
      .compile({ limits: { steps: 3 } })
    const flow = graph({ state })
      .addNode('count', inner)
      .addEdge(START, 'count')
      .addEdge('count', END)
      .compile()
    const { status, error } = await flow.stream({}, { contextId }).outcome
    expect([status, error]).toMatchObject([
      'failed',
      { code: 'limit', message: 'count.1 was stopped by the limit on steps (3).' },
    ])
    expect((await flow.invoke(null, { contextId })).state.notes).toEqual(['1', '2', '3', '4', '5'])
  })

  it('by its iterations, an agent fails its node, and null goes on with it', async () => {
    const model = new ScriptedModel([{ text: 'So far: 1.', calls: [{ tool: 'none' }] }, 'At last.'])
    const flow = graph({ state })
      .addNode('talk', agentNode({ model, limits: { iterations: 1 } }), {
        input: () => 'Go.',
        output: (text) => ({ notes: text }),
      })
      .addEdge(START, 'talk')
      .addEdge('talk', END)
      .compile()
    const { status, error, state: reached } = await flow.stream({}, { contextId }).outcome
    expect([status, error, reached.notes]).toMatchObject([
      'failed',
      { code: 'max-iterations', message: 'talk.1 was stopped by the limit on iterations (1).' },
      [],
    ])
    expect((await flow.invoke(null, { contextId })).state.notes).toEqual(['At last.'])
  })

  it('by the limit of the whole ends the whole by that limit', async () => {
    const model = new ScriptedModel([{ calls: [{ tool: 'none' }] }, 'At last.'])
    const flow = graph({ state })
      .addNode('talk', agentNode({ model }), { input: () => 'Go.', output: (text) => ({ notes: text }) })
      .addEdge(START, 'talk')
      .addEdge('talk', END)
      .compile({ limits: { tokens: 1 } })
    const first = await flow.stream({}, { contextId }).outcome
    expect([first.reason, first.limit, first.state.notes]).toEqual(['limit', 'tokens', []])
    const { state: reached } = await flow.invoke(null, { contextId, limits: { tokens: 1e6 } })
    expect(reached.notes).toEqual(['At last.'])
  })
})

describe('secrets', () => {
  it('reach nodes and effects, and are found nowhere', async () => {
    const store = memoryStore()
    const secret = 'sk-very-secret-7'
    const seen: unknown[] = []
    const flow = graph({ state: { ...state, said: value<string>() } })
      .addNode('work', async (_, { credentials, step }) => {
        seen.push(credentials['token'])
        const echoed = await step('call', () => `called with ${String(credentials['token'])}`)
        return { notes: [echoed, `the token is ${String(credentials['token'])}`] }
      })
      .addNode('fail', (_, { credentials }) => {
        throw new Error(`broken by ${String(credentials['token'])}`)
      })
      .addEdge(START, 'work')
      .addEdge('work', 'fail')
      .addEdge('fail', END)
      .compile({ store })
    const { error } = await flow.stream({}, { contextId, auth: { credentials: { token: secret } } }).outcome
    expect([seen, error?.message.includes(secret)]).toEqual([[secret], false])
    expect(JSON.stringify(await store.read(key))).not.toContain(secret)
    const again = await flow.stream(null, { contextId }).outcome
    expect(again.status).toBe('auth-required')
  })

  it('nobody but the owner is let in', async () => {
    const flow = single(async () => 'x')
    const { error } = await flow.stream({}, { contextId, auth: { actor: 'mallory' } }).outcome
    expect(error?.code).toBe('forbidden')
  })
})
