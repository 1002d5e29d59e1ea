import { expect, test } from 'vitest'
import { LOCAL_OWNER, memoryStore } from '../../../src/index.ts'
import { ScriptedModel } from '../../../src/testing/index.ts'
import { until } from '../../turn/kit.ts'
import { runHostile } from './hostile-run.ts'
import { open } from './kit.ts'

test('hostile requests get problems, store nothing, and leave nothing open (npm run hostile:http has 6,000)', async () => {
  const store = memoryStore()
  const { url, call } = await open(
    { store, agents: { a: () => ({ model: new ScriptedModel(() => 'ok') }) } },
    { requestsPerMinute: 1_000_000, maxBodyBytes: 200_000 },
    { headersTimeoutMs: 200, requestTimeoutMs: 400 },
  )
  await call('/conversations/a:kept/messages?wait=true', { json: { message: 'Hi' } })
  const { problems, statuses } = await runHostile({
    url,
    count: 300,
    seed: 5,
    concurrency: 20,
    isStored: async (contextId) => (await store.head({ ...LOCAL_OWNER, contextId })) !== undefined,
  })
  expect(problems).toEqual([])
  expect(Object.keys(statuses)).toEqual(
    expect.arrayContaining(['200', '400', '404', '408', '413', '415', '431']),
  )
  expect((await call('/health')).status).toBe(200)
  await until('no stream is open', async () =>
    (await (await call('/metrics')).text()).includes('holdfast_http_streams 0'),
  )
})
