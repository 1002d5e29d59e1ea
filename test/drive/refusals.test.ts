/** A refused caller has nothing in the journal, whatever it waited for when it was refused (P5). */
import { describe, expect, it } from 'vitest'
import { systemTimer, type Timer } from '../../src/base/index.ts'
import { HoldfastError } from '../../src/protocol/index.ts'
import type { AppendRequest } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { faultyStore } from '../../src/testing/faulty-store.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { asking, bench, calls, gate, KEY, probe, quiet, until } from '../turn/kit.ts'
import { holdingAppend, postedKeys, withMethods } from './refusing-store.ts'

const forever = { model: ScriptedModel.forever('Done.') }

describe('while the claim with the posts of one caller fails', () => {
  it('a caller that waits for it is refused with nothing stored, or its outcome says that it is stored', async () => {
    const { store, reached, release } = holdingAppend({
      at: ({ claim }) => claim !== undefined,
      code: 'store-failed',
    })
    const { agent } = bench({ store, ...forever })
    const a = agent.executeTurn('A', { key: 'a' })
    await reached
    const b = agent.executeTurn('B', { key: 'b' })
    await quiet()
    release()
    // The queued posts are written again before the next caller's, and the store takes them then.
    expect(await a.outcome).toMatchObject({ turn: 0, error: { code: 'store-failed', stored: true } })
    const refused = await b.outcome
    expect(refused).toMatchObject({ turn: 0, error: { code: 'store-failed' } })
    expect(refused.error).not.toHaveProperty('stored')
    await agent.executeTurn('C', { key: 'c' }).outcome
    expect(await postedKeys(store)).toEqual(['a', 'c'])
    expect(agent.state.turnCount).toBe(2)
  })

  it('a caller whose answer is being checked is refused, and its answer is not stored', async () => {
    const { store, reached, release } = holdingAppend({
      at: ({ inbox = [] }) => inbox.some(({ key }) => key === 'a'),
      code: 'store-failed',
    })
    const tools = [asking('ask', { kind: 'text', prompt: 'Which?' })]
    const { agent } = bench({ store, tools, script: [calls('ask'), 'Done.'] })
    const [request] = (await agent.executeTurn('Paint', { key: 'first' }).outcome).requests
    const a = agent.executeTurn('A', { key: 'a' })
    await reached
    const b = agent.answer({ [request?.requestId ?? '']: 'blue' }, { key: 'b' })
    release()
    expect((await a.outcome).error).toMatchObject({ code: 'store-failed' })
    expect(await b.outcome).toMatchObject({ turn: 0, error: { code: 'store-failed' } })
    await agent.executeTurn('C', { key: 'c' }).outcome
    expect(await postedKeys(store)).toEqual(['first', 'c'])
  })
})

describe('a shutdown while callers arrive', () => {
  it('waits for a message that is being written, and refuses the next before it is written', async () => {
    const { store, reached, release } = holdingAppend({
      at: ({ inbox = [] }) => inbox.some(({ key }) => key === 'a'),
    })
    const ended = gate()
    const slow = probe('slow', () => ended.promise)
    const { agent } = bench({ store, tools: [slow], script: [calls('slow'), 'Done.'] })
    void agent.executeTurn('First', { key: 'first' })
    await until('the tool runs', () => slow.ran.length === 1)
    const closed = agent.shutdown({ save: false })
    await quiet()
    // The agent may be asked again before it is closed.
    const started = agent.start()
    const [a, b] = [agent.executeTurn('A', { key: 'a' }), agent.executeTurn('B', { key: 'b' })]
    await reached
    ended.resolve()
    await closed
    const refused = await b.outcome
    expect([refused.turn, refused.error?.code, refused.error?.['stored']]).toEqual([0, 'shutdown', undefined])
    expect(a.isEnded).toBe(false)
    release()
    expect((await a.outcome).error).toMatchObject({ code: 'shutdown', stored: true })
    await started
    await agent.lastTurn()
    expect(await postedKeys(store)).toEqual(['first', 'a'])
  })
})

describe('a write of unknown outcome', () => {
  it('refuses with the advice to send the message again under its key, which has one effect', async () => {
    let isLost = true
    const isLate = ({ inbox = [] }: AppendRequest) => isLost && inbox.some(({ key }) => key === 'k')
    const store = faultyStore(memoryStore(), [{ at: isLate, how: 'fail', when: 'after' }])
    const timer: Timer = { ...systemTimer, wait: (ms, options) => systemTimer.wait(ms / 20, options) }
    const held = gate()
    const model = new ScriptedModel(async () => (await held.promise, 'Done.'))
    const { agent } = bench({ store, model, realTime: true, timer })
    const first = agent.executeTurn('First', { key: 'first' })
    await until('it runs', () => model.calls.length === 1)
    const { error, turn } = await agent.executeTurn('Hi', { key: 'k' }).outcome
    expect([turn, error?.code, error?.['stored']]).toEqual([0, 'ambiguous', undefined])
    expect(error?.message).toContain('Send it again under the same key')
    isLost = false
    const again = agent.executeTurn('Hi', { key: 'k' })
    held.resolve()
    expect(await again.outcome).toMatchObject({ turn: 2, text: 'Done.' })
    await first.outcome
    expect(await postedKeys(store)).toEqual(['first', 'k'])
  })
})

describe('a cancel of a turn that has not begun', () => {
  it('resolves at once; if the store refuses it when the turn begins, the turn runs on', async () => {
    const { store, reached, release } = holdingAppend({
      at: ({ inbox = [] }) => inbox.some(({ type }) => type === 'cancel'),
      code: 'store-failed',
    })
    const held = gate()
    const model = new ScriptedModel(async () => (await held.promise, 'Done.'))
    const { agent } = bench({ store, model })
    const first = agent.executeTurn('First', { key: 'first' })
    const second = agent.executeTurn('Second', { key: 'second' })
    await second.cancel()
    expect([first.isEnded, await postedKeys(store)]).toEqual([false, ['first', 'second']])
    release()
    held.resolve()
    await reached
    expect(await second.outcome).toMatchObject({ turn: 2, reason: 'stop', text: 'Done.' })
    expect(await postedKeys(store)).toEqual(['first', 'second'])
  })
})

describe('a cancel of a message that was sent before', () => {
  it('is not posted if its turn has ended: the request that it waits for stays open', async () => {
    const tools = [asking('ask', { kind: 'text', prompt: 'Which?' })]
    const { agent, store } = bench({ tools, script: [calls('ask'), 'Done.'] })
    await agent.executeTurn('Paint', { key: 'k' }).outcome
    const again = agent.executeTurn('Paint', { key: 'k' })
    const cancelled = again.cancel()
    expect(await again.outcome).toMatchObject({ turn: 1, status: 'input-required' })
    await cancelled
    await quiet()
    expect(await postedKeys(store)).toEqual(['k'])
    expect(await agent.requests()).toHaveLength(1)
  })
})

describe('an error of the store while another process is followed', () => {
  it('ends every caller that waits, although a request to continue is among them', async () => {
    const inner = memoryStore()
    let watches = 0
    const store = withMethods(inner, {
      watch: (key, options) => {
        watches += 1
        if (watches > 1) throw new HoldfastError('too-large', { message: 'The test refuses this read.' })
        return inner.watch(key, options)
      },
    })
    const { agent } = bench({ store, script: [{ error: { status: 400 } }] })
    expect((await agent.executeTurn('First').outcome).status).toBe('failed')
    const { seq: since = 0 } = (await store.head(KEY)) ?? {}
    await store.append({ key: KEY, id: 'x', since, claim: { driver: 'x', leaseMs: 60_000 } })
    const waiting = agent.executeTurn('W', { key: 'w' })
    await until('it follows the owner', () => watches === 1)
    const continuing = agent.executeTurn(null)
    expect((await continuing.outcome).error).toMatchObject({ code: 'too-large' })
    await quiet()
    expect(waiting.isEnded).toBe(true)
    expect((await waiting.outcome).error).toMatchObject({ code: 'too-large', stored: true })
  })
})
