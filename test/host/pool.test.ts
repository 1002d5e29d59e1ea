import { expect, test } from 'vitest'
import { z } from 'zod'
import { createHost } from '../../src/host/index.ts'
import { defineTool, memoryStore } from '../../src/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'

const OWNER = { tenant: 'acme', actor: 'ann' }

test('a conversation that was just opened is in use: messages beyond maxOpen are overloaded, and not stored', async () => {
  const host = createHost({
    store: memoryStore(),
    agents: { a: { model: new ScriptedModel(() => 'Done.') } },
    maxOpen: 3,
  })
  const sent = Array.from({ length: 8 }, async (_, at) => {
    const turn = await host.send({ ...OWNER, contextId: `a:${at}` }, 'Hi')
    return (await turn.outcome).text
  })
  const results = await Promise.allSettled(sent)
  expect(
    results.map((each) =>
      each.status === 'fulfilled' ? each.value : (each.reason as { code: string }).code,
    ),
  ).toEqual([...Array<string>(3).fill('Done.'), ...Array<string>(5).fill('overloaded')])
  expect(await host.store.scan()).toHaveLength(3)
  await host.shutdown()
})

test('the requests of more conversations than may be open are listed', async () => {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays',
    input: z.object({}),
    approve: 'always',
    run: () => 'paid',
  })
  const model = new ScriptedModel(() => ({ calls: [{ tool: 'pay', args: {} }] }))
  const host = createHost({ store: memoryStore(), agents: { a: { model, tools: [pay] } }, maxOpen: 2 })
  for (const id of ['a:1', 'a:2', 'a:3', 'a:4'])
    await (await host.send({ ...OWNER, contextId: id }, 'Pay')).outcome
  const { notices } = await host.openRequests(OWNER)
  const ids = notices.flatMap(({ key, requests }) => requests.map(() => key.contextId))
  expect(ids.toSorted()).toEqual(['a:1', 'a:2', 'a:3', 'a:4'])
  await host.shutdown()
})
