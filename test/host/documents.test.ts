import { expect, test } from 'vitest'
import { createHost } from '../../src/host/index.ts'
import { memoryStore } from '../../src/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { QUICK_STORES } from '../turn/kit.ts'

const key = { tenant: 'acme', actor: 'ann', contextId: 'a:1' }

test('a document is replaced by one writer of a version, found when its time has come, and erased with its conversation', async () => {
  const store = memoryStore()
  const host = createHost({ store, agents: { a: { model: new ScriptedModel(['Hi.']) } } })
  await (await host.send(key, 'Hello')).outcome
  const { documents } = host
  const none = await documents.read(key, 'job.1')
  expect(none).toEqual({ key, name: 'job.1', value: undefined, version: 0 })
  const first = await documents.write(none, { value: { step: 1 }, wakeAt: 1 })
  expect(await documents.read(key, 'job.1')).toEqual(first)
  expect(await documents.write(none, { value: { step: 9 } })).toBeUndefined()
  expect(await documents.due('job.')).toEqual([{ key, name: 'job.1' }])
  expect(await documents.due('other.')).toEqual([])
  expect(await documents.names(key, 'job.')).toEqual(['job.1'])
  const second = await documents.write(first ?? none, { value: { step: 2 } })
  expect([(await documents.read(key, 'job.1')).value, second?.value]).toEqual([{ step: 2 }, { step: 2 }])
  expect(await documents.due('job.')).toEqual([])
  expect((await host.reads.list(key, {})).conversations).toHaveLength(1)
  await host.erase(key)
  expect(await documents.names(key, 'job.')).toEqual([])
  await host.shutdown()
})

test('a document is found behind thousands of conversations that nobody here drives', async () => {
  const store = memoryStore()
  for (let at = 0; at < 2001; at++) {
    const input = { type: 'input', key: 'first', data: { message: 'Hello' } } as const
    await store.append({
      key: { ...key, contextId: `elsewhere:${at}` },
      id: `append-${at}`,
      since: 0,
      inbox: [input],
    })
  }
  const host = createHost({ store, agents: { a: { model: new ScriptedModel(['Hi.']) } } })
  await (await host.send(key, 'Hello')).outcome
  const none = await host.documents.read(key, 'job.1')
  await host.documents.write(none, { value: { step: 1 }, wakeAt: 1 })
  expect(await host.documents.due('job.')).toEqual([{ key, name: 'job.1' }])
  await host.shutdown()
})

test.each(QUICK_STORES)(
  'a document of a conversation that begins anew is written again, in %s',
  async (_, open) => {
    const store = open()
    const agents = { a: { model: new ScriptedModel(['Hi.', 'Hi.']) } }
    const [host, other] = [createHost({ store, agents }), createHost({ store, agents })]
    await (await host.send(key, 'Hello')).outcome
    const { documents } = host
    const old = await documents.write(await documents.read(key, 'job.1'), { value: { step: 1 }, wakeAt: 1 })
    await host.erase(key)
    const none = await documents.read(key, 'job.1')
    await expect(documents.write(none, { value: { step: 2 } })).rejects.toMatchObject({ code: 'erased' })
    await host.recreate(key)
    expect(await documents.due('job.')).toEqual([])
    const stale = { ...none, version: old?.version ?? 0 }
    expect(await documents.write(stale, { value: { step: 9 } })).toBeUndefined()
    const writes = [documents, other.documents].map((each) =>
      each.write(none, { value: { step: 2 }, wakeAt: 1 }),
    )
    expect((await Promise.all(writes)).filter(Boolean)).toHaveLength(1)
    const known = await documents.read(key, 'job.1')
    expect(known.value).toEqual({ step: 2 })
    expect(await documents.due('job.')).toEqual([{ key, name: 'job.1' }])
    expect((await documents.write(known, { value: { step: 3 } }))?.value).toEqual({ step: 3 })
    expect(await documents.names(key, 'job.')).toEqual(['job.1'])
    await host.shutdown()
    await other.shutdown()
  },
)
