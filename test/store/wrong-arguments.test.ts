/** A method of a store that gets nothing, or something else than its arguments, says so. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { memoryFolder } from '../memory-folder.ts'

const key = { tenant: 'local', actor: 'local', contextId: 'c' }
type Method = (...args: readonly unknown[]) => unknown

/** Methods with the argument that has to be an object, and what stands before it. */
const METHODS: readonly (readonly [name: string, before: readonly unknown[]])[] = [
  ...['append', 'renew', 'fork', 'prune', 'recreate', 'list'].map((name) => [name, []] as const),
  ...['head', 'read', 'inbox', 'base', 'watch', 'dropSnapshots', 'erase', 'rebuild'].map(
    (name) => [name, []] as const,
  ),
  ...['putBlob', 'getBlob'].map((name) => [name, []] as const),
  ...['lookup', 'saveSnapshot', 'loadSnapshot'].map((name) => [name, [key]] as const),
  ['putBlob', [key]],
]

it('a backup needs a path', async () => {
  const folder = memoryFolder('holdfast-wrong-')
  const store = sqliteStore(join(folder, 'a.db'))
  for (const wrong of [undefined, null, 7, ''])
    await expect(store.backup(wrong as never)).rejects.toThrow('backup() needs the path of the copy')
  await store.close()
  rmSync(folder, { recursive: true })
})

describe.each(['memoryStore()', 'sqliteStore()'])('%s', (kind) => {
  it.each(METHODS)('%s(%j …) refuses what is no object', async (name, before) => {
    const folder = memoryFolder('holdfast-wrong-')
    const store = kind === 'memoryStore()' ? memoryStore() : sqliteStore(join(folder, 'a.db'))
    try {
      // A valid key is remembered, and must not be compared with nothing.
      await store.head(key)
      for (const wrong of [undefined, null, 'x']) {
        const call = async (): Promise<unknown> => {
          const answer = (store as unknown as Record<string, Method>)[name]?.(...before, wrong)
          return name === 'watch' ? (answer as AsyncIterable<unknown>)[Symbol.asyncIterator]().next() : answer
        }
        await expect(call()).rejects.toMatchObject({
          code: expect.stringMatching(/^invalid-(key|option)$/) as string,
        })
      }
    } finally {
      await store.close()
      rmSync(folder, { recursive: true })
    }
  })
})
