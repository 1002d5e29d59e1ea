/** A turn that breaks ends as failed: it is neither open for ever nor in the way of the next one (R7, R14). */
import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { type Entry, type EntryData, HoldfastError } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { bench, calls, entryLines, gate, KEY, probe, said } from './kit.ts'

/** A store that refuses entries that `poison` finds, this many times. */
function picky(poison: (entry: { type: string; data: object }) => boolean, times = 1): Store {
  const store = memoryStore()
  let left = times
  const append: Store['append'] = (request) => {
    if (left > 0 && request.entries?.some(poison)) {
      left -= 1
      return Promise.reject(new HoldfastError('too-large', { message: 'More than can be kept.' }))
    }
    return store.append(request)
  }
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'append') return append
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

const UNSTORED = 'It came to an end, and its result could not be stored.'

describe('what cannot be stored', () => {
  it('of a reply is dropped, the turn fails, and the next one goes well', async () => {
    const store = picky(({ type }) => type === 'model.end')
    const { agent } = bench({ store, script: ['Long', 'Short'] })
    const turn = agent.executeTurn('Hi')
    expect((await entryLines(turn)).slice(3)).toEqual([
      '4 model.start 1',
      '5 model.end error unknown fail',
      '6 turn.end failed',
    ])
    expect((await turn.outcome).error).toMatchObject({ code: 'too-large', message: 'More than can be kept.' })
    expect((await agent.executeTurn('Again').outcome).text).toBe('Short')
    await said(store)
  })

  for (const [times, outputs] of [
    [1, [{ n: 0 }, 'slowly']],
    [2, [UNSTORED, UNSTORED]],
  ] as const)
    it(`of a result leaves how the call ended, and after ${times} refusals of ${times === 1 ? 'none' : 'all'} what came of it`, async () => {
      const store = picky(({ type }) => type === 'tool.end', times)
      const slow = gate()
      const tools = [probe('fast'), probe('slow', () => slow.promise.then(() => 'slowly'))]
      const { agent } = bench({ store, script: [calls('fast', 'slow')], tools })
      const turn = agent.executeTurn('Hi')
      setTimeout(() => slow.resolve(), 20)
      expect((await turn.outcome).error?.code).toBe('too-large')
      const ends = (await store.read(KEY)).filter(({ type }) => type === 'tool.end')
      const byCall = ends
        .map(({ data }) => data as EntryData['tool.end'])
        .toSorted((a, b) => a.callId.localeCompare(b.callId))
      expect(byCall.map(({ status, output }) => [status, output])).toEqual(
        outputs.map((output) => ['ok', output]),
      )
      await said(store)
    })

  it('twice is the business of whoever drives', async () => {
    const store = picky(({ type }) => type === 'model.end', 9)
    const { agent } = bench({ store, script: ['Long'] })
    expect((await agent.executeTurn('Hi').outcome).error?.code).toBe('too-large')
  })
})

describe('an input that no turn can begin with', () => {
  it('is refused where it is posted', async () => {
    const data = { message: 'x', metadata: 5 }
    const post = { key: KEY, id: 'p', since: 0, inbox: [{ type: 'input', key: 'k', data }] } as const
    await expect(memoryStore().append(post)).rejects.toMatchObject({ code: 'invalid-entry' })
  })
})

describe('what breaks between a reply and its calls', () => {
  it('ends the turn with every call settled, and without secrets', async () => {
    let asked = 0
    const { agent, store } = bench({
      script: [calls('look'), 'Done'],
      tools: [probe('look')],
      credentials: () => {
        asked += 1
        if (asked > 1) throw new Error('the vault is closed')
        return undefined
      },
    })
    const turn = agent.executeTurn('Hi')
    expect(await turn.outcome).toMatchObject({
      reason: 'failed',
      error: { code: 'option-failed', message: 'The function credentials failed: the vault is closed' },
    })
    expect(await said(store)).toEqual(['user "Hi"', 'assistant call_1:look', 'tool call_1:not-run'])
  })

  it('says nothing of keys and headers of the model', async () => {
    const model = new ScriptedModel([{ error: { status: 400, message: 'no plain words, other-words' } }])
    const settings = { apiKey: 'plain words', headers: { authorization: 'Bearer other-words' } }
    const { agent, store } = bench({ model: [{ model, settings }] })
    const { error } = await agent.executeTurn('Hi').outcome
    expect(error?.message).toBe('no [redacted], [redacted]')
    const kept = JSON.stringify(await store.read(KEY))
    expect([kept.includes('plain words'), kept.includes('other-words')]).toEqual([false, false])
  })
})

describe('what the host looks up', () => {
  it('leaves no listener behind', async () => {
    const signals: AbortSignal[] = []
    const look = probe('look', (_, { signal }) => void signals.push(signal))
    const { agent } = bench({ script: [calls('look'), calls('look'), 'Done'], tools: () => [look] })
    await agent.executeTurn('Hi').outcome
    expect(signals.map((signal) => getEventListeners(signal, 'abort').length)).toEqual([0, 0])
  })
})

describe('a turn without anything to say', () => {
  it('is refused after a clear, and stores nothing', async () => {
    const { agent, model, store } = bench({ script: [{ error: { status: 400 } }, 'ok'] })
    await agent.executeTurn('x').outcome
    await agent.clear()
    expect((await agent.executeTurn(null).outcome).error?.code).toBe('nothing-to-continue')
    expect(model.calls).toHaveLength(1)
    expect((await store.read(KEY)).slice(-2).map(({ type }: Entry) => type)).toEqual(['clear', 'release'])
  })
})
