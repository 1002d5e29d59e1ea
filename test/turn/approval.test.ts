/** Approval, expiry and restarts: a request outlives its turn and its process. */
import { describe, expect, it } from 'vitest'
import type { NewInboxEntry } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { withMethods } from '../drive/refusing-store.ts'
import {
  asking,
  bench,
  calls,
  entryLines,
  journal,
  KEY,
  openSqlite,
  type Probe,
  probe,
  quiet,
  STORES,
  said,
  sqlitePath,
  until,
} from './kit.ts'

const HOUR = 3_600_000

describe.each(STORES)('a call that needs approval, on %s', (_, open) => {
  const benchOf = () => {
    const pay = probe('pay', ({ n }) => ({ paid: n ?? 0 }), { approve: 'always' })
    return { pay, ...bench({ store: open(), script: [calls(['pay', { n: 5 }]), 'Paid'], tools: [pay] }) }
  }

  it('is asked about before it starts', async () => {
    const { agent, pay } = benchOf()
    const turn = agent.executeTurn('Pay')
    expect((await entryLines(turn)).slice(4)).toEqual([
      '5 model.end call_1:pay',
      '6 request.start call_1/approval confirmation',
      '7 turn.end input-required',
    ])
    expect((await turn.outcome).requests).toMatchObject([
      { from: 'approval', prompt: 'May "pay" be run with {"n":5}?', about: { tool: 'pay', args: { n: 5 } } },
    ])
    expect(pay.ran).toEqual([])
  })

  it('runs once it is approved', async () => {
    const { agent, pay, store } = benchOf()
    await agent.executeTurn('Pay').outcome
    expect(await entryLines(agent.answer({ 'call_1/approval': { approved: true, reason: 'ok' } }))).toEqual([
      '8 answer call_1/approval {"approved":true,"reason":"ok"}',
      '9 claim 2',
      '10 turn.start',
      '11 request.end call_1/approval answered {"approved":true,"reason":"ok"} takes 8',
      '12 tool.start call_1 pay',
      '13 tool.end call_1 ok',
      '14 model.start 1',
      '15 model.end "Paid"',
      '16 turn.end stop',
    ])
    expect(pay.ran).toEqual(['call_1'])
    await said(store)
  })

  it('that is denied is rejected, and the model hears why', async () => {
    const { agent, pay, store } = benchOf()
    await agent.executeTurn('Pay').outcome
    const turn = agent.answer({ 'call_1/approval': { approved: false, reason: 'too much' } })
    expect((await entryLines(turn)).slice(4)).toEqual([
      '12 tool.end call_1 rejected',
      '13 model.start 1',
      '14 model.end "Paid"',
      '15 turn.end stop',
    ])
    expect(JSON.stringify((await agent.getMessages())[2])).toContain('too much')
    expect(pay.ran).toEqual([])
    await said(store)
  })

  it('is not taken for approved by a plain message', async () => {
    const { agent, pay, store } = benchOf()
    await agent.executeTurn('Pay').outcome
    expect((await entryLines(agent.executeTurn('yes'))).slice(2, 5)).toEqual([
      '10 turn.start takes 8',
      '11 request.end call_1/approval cancelled',
      '12 tool.end call_1 not-run',
    ])
    expect(pay.ran).toEqual([])
    await said(store)
  })
})

describe('an approval of a call whose twin became unknown afterwards', () => {
  /** Pays twice with the same arguments; the first payment never ends. */
  const paying = async (twins: number) => {
    const pay: Probe = probe('pay', () => (pay.ran.length === 1 ? new Promise(() => {}) : 'paid'), {
      approve: 'always',
      exclusive: true,
      timeoutMs: 50,
    })
    const names = Array.from({ length: twins }, () => 'pay')
    const { agent, clock } = bench({ script: [calls(...names), 'Done'], tools: [pay] })
    const { requests } = await agent.executeTurn('Pay').outcome
    const turn = agent.answer(Object.fromEntries(requests.map(({ requestId }) => [requestId, true])))
    await until('the first call runs', () => pay.ran.length === 1)
    await quiet()
    clock.advance(50)
    return { agent, pay, outcome: await turn.outcome }
  }

  it('does not cover it: the person is asked again, and told why', async () => {
    const { agent, pay, outcome } = await paying(2)
    expect([outcome.reason, pay.ran]).toEqual(['input-required', ['call_1']])
    expect(outcome.requests).toMatchObject([
      { requestId: 'call_2/approval-2', prompt: expect.stringContaining('was started before') },
    ])
    expect(await agent.answer({ 'call_2/approval-2': true }).outcome).toMatchObject({ reason: 'stop' })
    expect(pay.ran).toEqual(['call_1', 'call_2'])
  })

  it('is asked for each of several, and a refusal counts', async () => {
    const { agent, pay, outcome } = await paying(3)
    expect(outcome.requests.map(({ requestId }) => requestId)).toEqual([
      'call_2/approval-2',
      'call_3/approval-2',
    ])
    await agent.answer({ 'call_2/approval-2': false, 'call_3/approval-2': false }).outcome
    expect(pay.ran).toEqual(['call_1'])
  })
})

describe('limits and metadata of a turn that waits', () => {
  const seen: unknown[] = []
  const pay = probe('pay', (_, { metadata }) => void seen.push(metadata), { approve: 'always' })
  const twoCalls = [calls(['pay', { n: 1 }], ['pay', { n: 2 }]), 'Paid']
  const options = { limits: { toolCalls: 1 }, metadata: { dryRun: true, by: 'ann' } }
  const yes = { 'call_1/approval': true, 'call_2/approval': true }

  const overriding = { limits: { toolCalls: 2, iterations: 5 }, metadata: { by: 'bob' } }
  it.each([
    { name: 'hold for the turn that takes the answers', given: {}, by: 'ann', count: 1 },
    { name: 'are overridden one by one', given: overriding, by: 'bob', count: 2 },
  ])('$name', async ({ given, by, count }) => {
    seen.length = 0
    const { agent } = bench({ script: twoCalls, tools: [pay] })
    await agent.executeTurn('Pay', options).outcome
    const { reason } = await agent.answer(yes, given).outcome
    expect(reason).toBe(count === 1 ? 'limit' : 'stop')
    expect(seen).toEqual(Array.from({ length: count }, () => ({ dryRun: true, by })))
  })

  it('hold after a second wait, in another process, and not for a turn that dismisses the calls', async () => {
    seen.length = 0
    const script = [...twoCalls, calls(['pay', { n: 3 }], ['pay', { n: 4 }]), 'Paid']
    const { agent, another } = bench({ script, tools: [pay] })
    await agent.executeTurn('Pay', options).outcome
    await agent.answer({ 'call_1/approval': true }).outcome
    await agent.shutdown()
    const next = another()
    expect(await next.answer({ 'call_2/approval': true }).outcome).toMatchObject({ reason: 'stop' })
    expect(seen).toEqual([options.metadata, options.metadata])
    await next.executeTurn('Pay', options).outcome
    const told: unknown[] = []
    const third = another({ on: { afterUserInput: ({ metadata }) => void told.push(metadata) } })
    await third.executeTurn('Do not').outcome
    expect(told).toEqual([{}])
  })
})

describe('a request that nobody answers', () => {
  it('expires, and the next turn tells the model so', async () => {
    const tools = [asking('quiz', { kind: 'text', prompt: 'Why?', expiresInMs: HOUR })]
    const { agent, clock, store, model } = bench({ script: [calls('quiz'), 'Too bad'], tools })
    await agent.executeTurn('Hi').outcome
    expect(await store.head({ tenant: 'local', actor: 'local', contextId: 'talk' })).toMatchObject({
      status: 'waiting',
      wakeAt: 1000 + HOUR,
    })
    clock.advance(HOUR)
    const late = agent.answer({ 'call_1/answer': 'because' })
    expect((await late.outcome).reason).toBe('failed')
    expect(await journal(store)).toHaveLength(8)
    const turn = agent.executeTurn(null)
    expect(await entryLines(turn)).toEqual([
      '9 claim 2',
      '10 turn.start',
      '11 request.end call_1/answer expired',
      '12 tool.end call_1 rejected',
      '13 model.start 1',
      '14 model.end "Too bad"',
      '15 turn.end stop',
    ])
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain('Nobody answered in time')
    await said(store)
  })

  it('is not answered by a message that comes after it has expired', async () => {
    const tools = [asking('quiz', { kind: 'text', prompt: 'Why?', expiresInMs: HOUR })]
    const { agent, clock, store } = bench({ script: [calls('quiz'), 'Too bad'], tools })
    await agent.executeTurn('Hi').outcome
    clock.advance(HOUR)
    const told = await entryLines(agent.executeTurn('because'))
    expect(told).toContain('11 turn.start takes 9')
    expect(told.filter((text) => text.includes('call_1/answer'))).toEqual([
      '12 request.end call_1/answer expired',
    ])
    expect(await said(store)).toEqual([
      'user "Hi"',
      'assistant call_1:quiz',
      'tool call_1:rejected',
      'user "because"',
      'assistant "Too bad"',
    ])
  })

  it('that expires lets the turn go on for the person who asked, not for the owner', async () => {
    const seen: unknown[] = []
    const quiz = asking('quiz', { kind: 'text', prompt: 'Why?', expiresInMs: HOUR })
    const look = probe('look', (_, { principal, credentials }) => void seen.push([principal, credentials]))
    const { agent, clock } = bench({
      script: [calls('quiz'), calls('look'), 'Too bad'],
      tools: [quiz, look],
      allow: () => true,
      credentials: ({ actor }) => ({ token: `token-of-${actor}` }),
    })
    await agent.start()
    const eve = { tenant: 'local', actor: 'eve', scopes: ['read'] }
    await agent.executeTurn('Hi', { auth: eve }).outcome
    clock.advance(HOUR)
    await until('the tool has run', () => look.ran.length > 0)
    expect(seen).toEqual([[eve, { token: 'token-of-eve' }]])
    await agent.shutdown()
  })

  describe('is answered in time', () => {
    const approval: NewInboxEntry = {
      type: 'answer',
      key: 'a',
      data: { requestId: 'call_1/approval', value: true },
    }
    const post = async (store: Store, inbox: NewInboxEntry): Promise<void> => {
      const { length: since } = await store.read(KEY)
      await store.append({ key: KEY, id: 'other-process', since, inbox: [inbox] })
    }

    it('by an answer that was posted in time, though a driver takes it later', async () => {
      const pay = probe('pay', undefined, { approve: 'always' })
      const { agent, store, clock } = bench({
        script: [calls('pay'), 'Paid'],
        tools: [pay],
        requestTtlMs: HOUR,
      })
      await agent.executeTurn('Pay').outcome
      await post(store, approval)
      clock.advance(HOUR)
      await agent.executeTurn(null).outcome
      expect(pay.ran).toEqual(['call_1'])
    })

    it('by a message that was posted in time', async () => {
      const tools = [asking('quiz', { kind: 'text', prompt: 'Why?', expiresInMs: HOUR })]
      const { agent, store, clock } = bench({ script: [calls('quiz'), 'Thanks'], tools })
      await agent.executeTurn('Hi').outcome
      await post(store, { type: 'input', key: 'm', data: { message: 'because' } })
      clock.advance(HOUR)
      await agent.executeTurn(null).outcome
      const ended = (await journal(store)).filter((line) => line.includes('request.end'))
      expect(ended).toEqual(['12 request.end call_1/answer answered "because" takes 9'])
    })

    it('by an answer that a driver has not seen when it ends the wait', async () => {
      const pay = probe('pay', undefined, { approve: 'always' })
      // The clock of the store stands still: the answer is posted in time.
      const inner = memoryStore({ clock: new ManualClock(1000) })
      let isUnseen = false
      const store = withMethods(inner, {
        append: async (request) => {
          const isClaim = isUnseen && request.claim !== undefined
          if (isClaim) isUnseen = false
          if (isClaim) await post(inner, approval)
          return inner.append(request)
        },
      })
      const tools = [pay]
      const { agent, clock } = bench({ store, script: [calls('pay'), 'Paid'], tools, requestTtlMs: HOUR })
      await agent.executeTurn('Pay').outcome
      clock.advance(HOUR)
      isUnseen = true
      await agent.executeTurn(null).outcome
      expect(pay.ran).toEqual(['call_1'])
    })
  })

  it('that was for approval counts as denied when it expires', async () => {
    const pay = probe('pay', undefined, { approve: 'always' })
    const { agent, clock } = bench({ script: [calls('pay'), 'Too bad'], tools: [pay], requestTtlMs: HOUR })
    await agent.executeTurn('Pay').outcome
    clock.advance(HOUR)
    const told = await entryLines(agent.executeTurn(null))
    expect(told.slice(2, 4)).toEqual([
      '10 request.end call_1/approval expired',
      '11 tool.end call_1 rejected',
    ])
    expect(pay.ran).toEqual([])
  })
})

describe('after a restart', () => {
  it('what was asked can be answered from the same file', async () => {
    const path = sqlitePath()
    const clock = new ManualClock(1000)
    const tools = [asking('quiz', { kind: 'confirmation', prompt: 'Sure?' })]
    const first = openSqlite(path, { clock })
    const { agent, another } = bench({ store: first, script: [calls('quiz'), 'Thanks'], tools })
    await agent.executeTurn('Hi').outcome
    await agent.shutdown()
    await first.close()

    const store = openSqlite(path, { clock })
    const next = another({ store })
    await next.start()
    expect(next.turn).toBeUndefined()
    expect((await next.requests()).map(({ requestId }) => requestId)).toEqual(['call_1/answer'])
    expect((await next.answer({ 'call_1/answer': 7 }).outcome).error).toMatchObject({
      code: 'invalid-answer',
    })
    const turn = next.answer({ 'call_1/answer': true })
    expect((await entryLines(turn)).slice(2)).toEqual([
      '11 turn.start',
      '12 request.end call_1/answer answered true takes 9',
      '13 tool.start call_1 quiz',
      '14 tool.end call_1 ok',
      '15 model.start 1',
      '16 model.end "Thanks"',
      '17 turn.end stop',
    ])
    await said(store)
  })

  it('what is left of two questions is told with the outcome', async () => {
    const store = openSqlite()
    const tool = asking('both', [
      { kind: 'text', prompt: 'Who?', name: 'who' },
      { kind: 'confirmation', prompt: 'Sure?', name: 'sure' },
    ])
    const { agent, another } = bench({
      store,
      script: [calls('both'), 'Thanks'],
      tools: [tool],
      realTime: true,
    })
    await agent.executeTurn('Hi').outcome
    const outcome = await another().answer({ 'call_1/sure': true }).outcome
    expect(outcome.requests.map(({ requestId }) => requestId)).toEqual(['call_1/who'])
  })
})
