/** Artifacts of a living conversation stay readable when its entries, or those of its fork, are pruned. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { Agent, defineTool, LOCAL_OWNER, memoryStore, type Store } from '../../src/index.ts'
import { forkContext, pruneContext } from '../../src/journal/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import type { Artifacts } from '../../src/tool/index.ts'

const BYTES = Uint8Array.from([1, 2, 3])

/** Methods that a wrapped store passes on: they have private fields, so they need the store itself. */
const BOUND = [
  ...([
    'append',
    'lookup',
    'head',
    'inbox',
    'base',
    'loadSnapshot',
    'saveSnapshot',
    'renew',
    'getBlob',
  ] as const),
]

/** Runs one turn for each step, in which a tool does it. */
async function play(
  store: Store,
  contextId: string,
  steps: readonly ((artifacts: Artifacts) => Promise<unknown>)[],
): Promise<unknown[]> {
  const results: unknown[] = []
  const step = defineTool({
    name: 'step',
    description: 'Runs the next step.',
    input: z.object({}),
    run: async (_, { artifacts }) => {
      results.push(await steps[results.length]?.(artifacts).catch((error: unknown) => error))
      return 'done'
    },
  })
  const model = new ScriptedModel(steps.flatMap(() => [{ calls: [{ tool: 'step' }] }, 'ok']))
  const agent = new Agent({ contextId, store, model, tools: [step] })
  await agent.start()
  for (const index of steps.keys()) await agent.executeTurn(`step ${index}`).outcome
  await agent.shutdown()
  return results
}

const write = async (artifacts: Artifacts): Promise<void> => {
  await artifacts.createFile('log')
  await artifacts.appendFile('log', 'line 1\n')
  await artifacts.writeData('todo', { items: ['a'] })
  await artifacts.writeFile('picture', BYTES)
}
const append = (artifacts: Artifacts) => artifacts.appendFile('log', 'line 2\n')
const read = async (artifacts: Artifacts): Promise<unknown> =>
  Promise.all(['log', 'todo', 'picture'].map(async (id) => (await artifacts.read(id)).content))

it.each(['the conversation', 'a fork'])('artifacts stay whole when %s is pruned', async (pruned) => {
  const store = memoryStore()
  const parent = { ...LOCAL_OWNER, contextId: 'parent' }
  await play(store, 'parent', [write])
  const key = pruned === 'a fork' ? { ...parent, contextId: 'fork' } : parent
  if (pruned === 'a fork') await forkContext(store, parent, { contextId: 'fork' })
  await play(store, key.contextId, [async () => {}, append, async () => {}])
  expect((await pruneContext(store, key, { keepTurns: 1 })).deleted).toBeGreaterThan(5)
  expect(await play(store, key.contextId, [read])).toEqual([[`line 1\nline 2\n`, { items: ['a'] }, BYTES]])
})

it('a store that has lost chunks of an artifact gives none of it', async () => {
  const store = memoryStore()
  await play(store, 'parent', [write, append])
  const forgetful: Store = Object.assign(Object.create(store) as Store, {
    read: async (...[key, range]: Parameters<Store['read']>) => {
      const entries = await store.read(key, range)
      return entries.filter(({ data }) => data['chunk'] !== 1)
    },
  })
  for (const name of BOUND) Object.assign(forgetful, { [name]: store[name].bind(store) })
  expect(await play(forgetful, 'parent', [(artifacts) => artifacts.read('log')])).toMatchObject([
    { code: 'pruned', details: { artifactId: 'log', version: 1 } },
  ])
})

it('bytes that went with another conversation before they were named are put again', async () => {
  const store = memoryStore()
  await play(store, 'first', [(artifacts) => artifacts.writeFile('picture', BYTES)])
  const erasing: Store = Object.assign(Object.create(store) as Store, {
    putBlob: async (...[owner, bytes]: Parameters<Store['putBlob']>) => {
      const hash = await store.putBlob(owner, bytes)
      await store.erase({ ...LOCAL_OWNER, contextId: 'first' })
      return hash
    },
  })
  for (const name of [...BOUND, 'read'] as const) Object.assign(erasing, { [name]: store[name].bind(store) })
  const steps = [
    (artifacts: Artifacts) => artifacts.writeFile('picture', BYTES),
    async (artifacts: Artifacts) => (await artifacts.read('picture')).content,
  ]
  expect(await play(erasing, 'second', steps)).toMatchObject([{ bytes: 3, complete: true }, BYTES])
})
