/** A corpus in a folder of the test, and small documents of every format. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import type { PassageQuery } from '../../src/corpus/port.ts'
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
export async function withoutPrivileges<T>(work: () => Promise<T>): Promise<T> {
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(65_534)
  try {
    return await work()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}

export const KELP = 'Kelp holds on to rock by its holdfast. A holdfast of giant kelp weighs up to 3 kg.'
export const TIDE = 'The tide gauge at Port Nérée was moved in May 1998. Since then it reads 12 cm too high.'
export const MOORING =
  'A mooring consists of an anchor, a chain and a buoy. The chain is inspected every spring.'

export async function filled(): Promise<SqliteCorpus> {
  const corpus = openCorpus()
  await corpus.add([
    { source: 'kelp.txt', content: KELP },
    { source: 'tide.md', content: `# Tides\n\n${TIDE}` },
    { source: 'mooring.txt', content: MOORING },
  ])
  return corpus
}

export async function found(
  corpus: SqliteCorpus,
  query: string,
  options: PassageQuery = {},
): Promise<readonly string[]> {
  return (await corpus.search(query, options)).map(({ source }) => source)
}
