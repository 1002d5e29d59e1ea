import { expect, test } from 'vitest'
import { createHost, type HostEvent } from '../../src/host/index.ts'
import { memoryStore } from '../../src/index.ts'
import { begunTurn, turnEvents } from '../../src/serve/turn-events.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { until } from '../turn/kit.ts'

const KEY = { tenant: 't', actor: 'a', contextId: 'helper:1' }

test('the events of a message that waits for another turn are those of its own turn', async () => {
  const gate = Promise.withResolvers<void>()
  const model = new ScriptedModel([() => gate.promise.then(() => 'First.'), 'Second.'])
  const host = createHost({ store: memoryStore(), agents: { helper: { model } } })
  await begunTurn(host.send(KEY, 'One'))
  await until('the first runs', () => model.calls.length === 1)
  const { ref, seq } = await begunTurn(host.send(KEY, 'Two', { whileBusy: 'queue' }))
  const seen: HostEvent[] = []
  const reading = (async () => {
    for await (const event of turnEvents(host, KEY, { ref, since: seq - 1 })) seen.push(event)
  })()
  gate.resolve()
  await reading
  const entries = seen.flatMap((event) => (event.type === 'entry' ? [event.entry] : []))
  expect(entries.map(({ turn, type }) => `${turn} ${type}`)).toEqual([
    ...['2 turn.start', '2 model.start', '2 model.end', '2 turn.end'],
  ])
  await host.shutdown()
})

test('a message that began no turn fails its reader', async () => {
  const store = memoryStore()
  const host = createHost({ store, agents: { helper: { model: new ScriptedModel(['Hi.']) } } })
  await (await host.send(KEY, 'One')).outcome
  await store.append({
    key: KEY,
    id: 'x',
    since: 0,
    inbox: [{ type: 'answer', key: 'k', data: { requestId: 'none', value: true } }],
  })
  const { seq = 0 } = (await store.inbox(KEY))[0] ?? {}
  host.start()
  await expect(
    (async () => {
      for await (const _ of turnEvents(host, KEY, { ref: { input: seq }, since: seq - 1 }));
    })(),
  ).rejects.toThrow('began no turn: nothing was waiting for it')
  await host.shutdown()
})
