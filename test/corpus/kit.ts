/** A corpus in a folder of the test, and small documents of every format. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import {
  type SqliteCorpus,
  type SqliteCorpusOptions,
  sqliteCorpus,
} from '../../src/corpus/sqlite/sqlite-corpus.ts'

const open: SqliteCorpus[] = []
const folders: string[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((corpus) => corpus.close()))
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-corpus-'))
  folders.push(folder)
  return folder
}

export function openCorpus(
  options: SqliteCorpusOptions = {},
  path: string = join(temporaryFolder(), 'corpus.db'),
): SqliteCorpus {
  const corpus = sqliteCorpus(path, options)
  open.push(corpus)
  return corpus
}

/** Runs as a user without special rights: root may read and write everything. */
export async function withoutPrivileges(work: () => Promise<void>): Promise<void> {
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(65_534)
  try {
    await work()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}
