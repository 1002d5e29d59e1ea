import { expect, test } from 'vitest'
import { LiveTurns } from '../../src/host/live-turns.ts'
import { PendingDeltas } from '../../src/host/pending-deltas.ts'
import type { DeltaEvent, TurnEvent } from '../../src/protocol/index.ts'

const KEY = { tenant: 't', actor: 'a', contextId: 'x' }
const reasoning = (text: string): DeltaEvent => ({ type: 'reasoning.delta', turn: 1, data: { text } })
const words = (text: string): DeltaEvent => ({ type: 'text.delta', turn: 1, data: { text } })

test('a reader that comes in the middle of a reply gets its reasoning and text so far, once', async () => {
  const live = new LiveTurns()
  const seen: unknown[] = []
  await live.follow(
    KEY,
    (async function* () {
      yield* [reasoning('Let me '), reasoning('think.'), words('Yes')]
      const pending = new PendingDeltas(live.replyOf(KEY))
      live.listen(KEY, (delta) => pending.add(delta))
      yield words(', it is.')
      seen.push(...pending.take(0))
      yield words(' Sure.')
      seen.push(...pending.take(0))
    })(),
  )
  expect(seen).toEqual([
    { type: 'text', turn: 1, text: 'Yes, it is.', reasoning: 'Let me think.' },
    { type: 'delta', event: words(' Sure.') },
  ])
})

const call = (callId: string, text: string): DeltaEvent => ({
  type: 'call.delta',
  turn: 1,
  data: { callId, tool: 'order', text },
})

test('the arguments of each call are joined for a slow reader, and are whole for one that comes in the middle', async () => {
  const live = new LiveTurns()
  const seen: unknown[] = []
  const early = new PendingDeltas(undefined)
  live.listen(KEY, (delta) => early.add(delta))
  await live.follow(
    KEY,
    (async function* () {
      for (let at = 0; at < 200; at++) yield call(`call_${at % 2}`, `${at} `)
      const pending = new PendingDeltas(live.replyOf(KEY))
      live.listen(KEY, (delta) => pending.add(delta))
      yield call('call_1', 'end')
      seen.push(...pending.take(0), ...early.take(0))
    })(),
  )
  const of = (odd: number) =>
    Array.from({ length: 100 }, (_, at) => `${2 * at + odd} `).join('') + (odd === 1 ? 'end' : '')
  const calls = [0, 1].map((odd) => ({ callId: `call_${odd}`, tool: 'order', text: of(odd) }))
  expect(seen).toEqual([
    { type: 'text', turn: 1, text: '', calls },
    ...calls.map(({ callId, text }) => ({ type: 'delta', event: call(callId, text) })),
  ])
})

test('reasoning is joined for a slow reader, and nothing of it is lost', () => {
  const pending = new PendingDeltas(undefined)
  for (let at = 0; at < 200; at++) pending.add({ after: 4, event: reasoning(`${at} `) })
  pending.add({ after: 4, event: words('Done.') })
  const all = Array.from({ length: 200 }, (_, at) => `${at} `).join('')
  expect(pending.take(4)).toEqual([
    { type: 'delta', event: reasoning(all) },
    { type: 'delta', event: words('Done.') },
  ])
})

test('a message that comes in the middle of a reply takes nothing of it from a slow reader', async () => {
  const live = new LiveTurns()
  const early = new PendingDeltas(undefined)
  live.listen(KEY, (delta) => early.add(delta))
  const seen: unknown[] = []
  await live.follow(
    KEY,
    (async function* () {
      yield { type: 'model.start', seq: 4, turn: 1, at: 0, v: 1, data: {} } as unknown as TurnEvent
      yield words('Hel')
      yield { type: 'input', seq: 5, turn: 0, at: 0, v: 1, data: {} } as unknown as TurnEvent
      const late = new PendingDeltas(live.replyOf(KEY))
      live.listen(KEY, (delta) => late.add(delta))
      yield words('lo')
      seen.push(...early.take(5), ...late.take(5))
    })(),
  )
  expect(seen).toEqual([
    { type: 'delta', event: words('Hello') },
    { type: 'text', turn: 1, text: 'Hello' },
  ])
})

test('a request that is refused is told to nobody but its caller', async () => {
  const live = new LiveTurns()
  const seen: unknown[] = []
  live.listen(KEY, (delta) => seen.push(delta))
  const data = { code: 'not-asked', message: 'Nobody asked that.' }
  await live.follow(
    KEY,
    (async function* (): AsyncGenerator<TurnEvent> {
      yield { type: 'turn.refused', turn: 0, data }
      yield words('Yes')
    })(),
  )
  expect(seen).toEqual([{ after: 0, event: words('Yes') }])
})
