/**
 * Runs inside a project that has installed the packed package, on each Node it supports: the store contract, as the
 * author of a store would run it, on the stores of the package. Child processes import this file for `open`.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { memoryStore } from 'holdfast'
import { type SqliteStore, sqliteStore } from 'holdfast/sqlite'
import { type StoreHarness, storeContract, whySkipped } from 'holdfast/testing/store'

export function open(path: string): SqliteStore {
  return sqliteStore(path)
}

async function runContract(harness: StoreHarness): Promise<{ passed: number; failed: string[] }> {
  const possible = storeContract.filter((item) => whySkipped(item, harness) === undefined)
  const failed: string[] = []
  for (const item of possible) {
    await item
      .run(harness)
      .catch((error: unknown) => failed.push(`${item.subject}: ${item.name}\n${String(error)}`))
  }
  return { passed: possible.length - failed.length, failed }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-contract-'))
  let files = 0
  const pathOf = (store: unknown) => (store as SqliteStore).path
  const memory = await runContract({ open: async (options) => memoryStore(options) })
  const sqlite = await runContract({
    open: async (options) => sqliteStore(join(folder, `${++files}.db`), options),
    reopen: async (store, options) => sqliteStore(pathOf(store), options),
    worker: (store) => ({ module: import.meta.url, argument: pathOf(store) }),
  })
  rmSync(folder, { recursive: true })
  console.log(`memory ${memory.passed}, sqlite ${sqlite.passed} cases passed on Node ${process.version}`)
  const failed = [...memory.failed, ...sqlite.failed]
  if (failed.length > 0) throw new Error(failed.join('\n'))
}
