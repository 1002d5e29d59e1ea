/** Windows, case by case (R11). */
import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject, NewEntry } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { memoryStore } from '../store/memory/index.ts'
import { windowSize } from './backwards.ts'
import { loadSession } from './load.ts'
import { transcript } from './transcript.ts'
import { readWindow } from './window.ts'

describe('the size of a window', () => {
  it('is everything up to the limit', () => {
    expect([0, 1, 7, 8].map((total) => windowSize(total, 8))).toEqual([0, 1, 7, 8])
  })

  it('falls back by a quarter of the limit and grows again', () => {
    expect([9, 10, 11, 12, 13, 14].map((total) => windowSize(total, 8))).toEqual([7, 8, 7, 8, 7, 8])
    expect([100, 101, 124, 125, 126].map((total) => windowSize(total, 100))).toEqual([100, 76, 99, 100, 76])
  })

  it('moves with every message when the limit is too small for steps', () => {
    expect([1, 2, 3, 4].map((total) => windowSize(total, 1))).toEqual([1, 1, 1, 1])
    expect([3, 4, 5, 6].map((total) => windowSize(total, 3))).toEqual([3, 3, 3, 3])
  })

  it('is never more than the limit, nor less than three quarters of it', () => {
    for (let limit = 1; limit <= 50; limit++) {
      for (let total = limit; total <= 300; total++) {
        expect(windowSize(total, limit)).toBeLessThanOrEqual(limit)
        expect(windowSize(total, limit)).toBeGreaterThan(limit - Math.max(1, limit / 4))
      }
    }
  })

  it('without a limit is everything', () => {
    expect(windowSize(12_345, Number.POSITIVE_INFINITY)).toBe(12_345)
  })
})

describe('a window', () => {
  const key = { tenant: 't', actor: 'a', contextId: 'c' }
  let store: Store
  let turn: number
  let serial = 0

  beforeEach(() => {
    store = memoryStore()
    turn = 0
  })

  it('is empty for a new conversation', async () => {
    expect(await shown(5)).toEqual([])
  })

  it('begins with what its turn was asked', async () => {
    await begin('Count.')
    for (const n of [1, 2, 3, 4, 5]) await drive('model.end', say(`${n}`))
    expect(await shown(2)).toEqual(['Count.', '4', '5'])
    expect(await positions(2)).toEqual([1, 3, 7, 8])
  })

  it('finds what its turn was asked also if that was posted long before the turn', async () => {
    await post('Waiting.', 'early')
    await begin('First.')
    for (let n = 0; n < 300; n++)
      await drive(
        'note',
        { text: `n${n}`, from: 'f' },
        ...Array.from({ length: 4 }, (): [string, JsonObject] => ['warning', { code: 'w', message: 'm' }]),
      )
    await end()
    await begin('Waiting.', 'early')
    for (const n of [1, 2, 3]) await drive('model.end', say(`${n}`))
    expect(await shown(2)).toEqual(['Waiting.', '2', '3'])
  })

  it('does not begin inside a round, where somebody spoke', async () => {
    await begin('Look.')
    await drive('model.end', ask('a', 'b'))
    await steer('Hurry.')
    await drive('tool.end', found('a'))
    await drive('tool.end', found('b'))
    expect(await shown(3)).toEqual(['Look.', 'a b?', 'a b!', 'Hurry.'])
    expect(await shown(2)).toEqual(['Look.', 'a b?', 'a b!', 'Hurry.'])
    await drive('model.end', say('Done.'))
    expect(await shown(1)).toEqual(['Look.', 'Done.'])
  })

  it('does not begin inside a round that is still open', async () => {
    await begin('Look.')
    await drive('model.end', ask('a', 'b'))
    await steer('Hurry.')
    await steer('Now.')
    expect(await shown(1)).toEqual(['Look.', 'a b?', 'Hurry.', 'Now.'])
  })

  it('may begin after a round that its turn left unfinished', async () => {
    await begin('Look.')
    await drive('model.end', ask('a'))
    await steer('Stop.')
    await end()
    expect(await shown(1)).toEqual(['Look.', 'Stop.'])
    expect(await shown(2)).toEqual(['Look.', 'a?', 'a!', 'Stop.'])
  })

  it('does not begin inside a round that is parked, in however many turns', async () => {
    await begin('Look.')
    await drive('model.end', ask('a', 'b'))
    await drive('tool.end', found('a'))
    await end('input-required')
    expect(await shown(1)).toEqual(['Look.', 'a b?', 'a!'])
    await post('Well?', 'Well?')
    expect(await shown(1)).toEqual(['Look.', 'a b?', 'a!'])
    await begin('So?')
    expect(await shown(1)).toEqual(['Look.', 'a b?', 'a!', 'So?'])
    await end('auth-required')
    await begin('Now?')
    await steer('Please.')
    expect(await shown(1)).toEqual(['Look.', 'a b?', 'a!', 'So?', 'Now?', 'Please.'])
    await drive('tool.end', found('b'))
    expect(await shown(1)).toEqual(['Look.', 'a b?', 'a b!', 'So?', 'Now?', 'Please.'])
    await drive('model.end', say('Done.'))
    expect(await shown(2)).toEqual(['Look.', 'a b?', 'a b!', 'So?', 'Now?', 'Please.', 'Done.'])
    expect(await shown(1)).toEqual(['Now?', 'Done.'])
  })

  it('does not begin inside a parked round that has no results yet', async () => {
    await begin('Look.')
    await drive('model.end', ask('a'))
    await steer('Hurry.')
    await end('input-required')
    expect(await shown(1)).toEqual(['Look.', 'a?', 'Hurry.'])
  })

  it('may begin inside a parked round once that is given up', async () => {
    await begin('Look.')
    await drive('model.end', ask('a'))
    await end('input-required')
    await begin('Forget it.')
    expect(await shown(1)).toEqual(['Look.', 'a?', 'Forget it.'])
    await drive('model.end', say('Well.'))
    expect(await shown(1)).toEqual(['Forget it.', 'Well.'])
    expect(await shown(2)).toEqual(['Forget it.', 'Well.'])
    expect(await shown(3)).toEqual(['Look.', 'a?', 'a!', 'Forget it.', 'Well.'])
  })

  it('shows nothing of a parked round that was cleared', async () => {
    await begin('Look.')
    await drive('model.end', ask('a'))
    await end('input-required')
    await drive('clear', {})
    await drive('release', { reason: 'cleared' })
    expect(await shown(5)).toEqual([])
    await begin('Anew.')
    expect(await shown(1)).toEqual(['Anew.'])
  })

  it('keeps the summary of what was compacted, however far it moves on', async () => {
    await begin('One.')
    await drive('model.end', say('1'))
    await end()
    await begin('Two.')
    await drive('compact', { upTo: 4, kept: 1, summary: 'So far: one.' })
    for (const n of [2, 3, 4, 5]) await drive('model.end', say(`${n}`))
    expect(await shown(100)).toEqual(['So far: one.', 'Two.', '2', '3', '4', '5'])
    expect(await shown(2)).toEqual(['So far: one.', 'Two.', '4', '5'])
    await drive('compact', { upTo: 4, kept: 5 })
    expect(await shown(2)).toEqual(['Two.', '4', '5'])
  })

  it('shows nothing of what was cleared, not even the question', async () => {
    await begin('Secret.')
    await drive('model.end', say('1'))
    await drive('clear', {})
    expect(await shown(5)).toEqual([])
    for (const n of [2, 3, 4]) await drive('model.end', say(`${n}`))
    expect(await shown(2)).toEqual(['3', '4'])
  })

  it('does not count what this version skips, nor take it for a part of a round', async () => {
    await begin('Count.')
    await drive('model.end', say('1'))
    await drive('note', { text: 'Good.', from: 'f' })
    await append([{ type: 'tool.end', turn, data: {}, v: 2, optional: true }])
    expect(await shown(1)).toEqual(['Count.', 'Good.'])
    await append([{ type: 'model.end', turn, data: {}, v: 9, optional: true }])
    expect(await shown(2)).toEqual(['Count.', '1', 'Good.'])
  })

  it.each([0, -1, Number.NaN])('refuses a limit of %d', async (maxMessages) => {
    await begin('Count.')
    await expect(shown(maxMessages)).rejects.toMatchObject({ code: 'invalid-option' })
  })

  async function append(entries: readonly NewEntry[]): Promise<void> {
    serial += 1
    const head = await store.head(key)
    const owner =
      head?.lease === undefined ? { claim: { driver: 'd', leaseMs: 1000 } } : { epoch: head.epoch }
    await store.append({ key, id: `${serial}`, since: head?.seq ?? 0, ...owner, entries })
  }

  async function drive(
    type: string,
    data: JsonObject,
    ...more: readonly [string, JsonObject][]
  ): Promise<void> {
    await append(
      [[type, data] as const, ...more].map(([name, content]) => ({ type: name, turn, data: content })),
    )
  }

  async function post(message: string, inboxKey: string): Promise<void> {
    const inbox = [{ type: 'input', key: inboxKey, data: { message } }] as const
    await store.append({ key, id: inboxKey, since: (await store.head(key))?.seq ?? 0, inbox })
  }

  async function begin(message: string, inboxKey: string = message): Promise<void> {
    turn += 1
    await post(message, inboxKey)
    await append([
      { type: 'turn.start', turn, data: { principal: { tenant: 't', actor: 'a' } }, takes: [inboxKey] },
    ])
  }

  async function steer(message: string): Promise<void> {
    await post(message, message)
    await append([{ type: 'take', turn, data: { as: 'message' }, takes: [message] }])
  }

  async function end(outcome = 'stop'): Promise<void> {
    await drive('turn.end', { outcome, usage: {}, durationMs: 1 })
  }

  async function positions(maxMessages: number): Promise<number[]> {
    const session = await loadSession(store, key)
    return (await readWindow(store, key, { session, maxMessages })).map(({ seq }) => seq)
  }

  /** The window as short texts: questions end with ?, results with !. */
  async function shown(maxMessages: number): Promise<string[]> {
    const session = await loadSession(store, key)
    return transcript(await readWindow(store, key, { session, maxMessages })).map((message) => {
      if (message.role === 'tool') return `${message.content.map(({ callId }) => callId).join(' ')}!`
      if (typeof message.content === 'string') return message.content
      const calls = message.content.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : []))
      return calls.length > 0
        ? `${calls.join(' ')}?`
        : message.content.map((part) => ('text' in part ? part.text : '')).join('')
    })
  }
})

function say(text: string): JsonObject {
  return { content: [{ type: 'text', text }], finish: 'stop' }
}

function ask(...calls: readonly string[]): JsonObject {
  return {
    content: calls.map((callId) => ({ type: 'tool-call', callId, tool: 'look', args: {} })),
    finish: 'tools',
  }
}

function found(callId: string): JsonObject {
  return { callId, status: 'ok', output: callId }
}
