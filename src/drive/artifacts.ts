/** Artifacts on the journal: changes are entries, found by a derived index (R13). A clear hides all of them. */

import { dataOf } from '../loop/index.ts'
import { type ArtifactInfo, type Entry, HoldfastError, type NewEntry, quote } from '../protocol/index.ts'
import { artifactKey, changesPrefix, type IndexRow, type Store } from '../store/index.ts'
import { type ArtifactPort, artifacts, type ConversationArtifacts } from '../tool/index.ts'
import type { JournalStateOptions } from './journal-state.ts'

export type { ConversationArtifacts } from '../tool/index.ts'

const PAGE = 500

export interface ArtifactSource {
  /** The position of the last clear. */
  readonly clearedAt: () => Promise<number>
  readonly record: (entry: Omit<NewEntry, 'turn'>) => Promise<void>
}

export function journalArtifacts(
  { store, key }: Pick<JournalStateOptions, 'store' | 'key'>,
  { clearedAt, record }: ArtifactSource,
): ConversationArtifacts {
  const port: ArtifactPort = {
    find: async (artifactId) => {
      const [row] = await store.lookup(key, { index: 'artifact', key: artifactKey(artifactId) })
      return row !== undefined && row.seq > (await clearedAt()) ? infoIn(row) : undefined
    },
    list: async () => {
      const rows = await allRows(store, key, artifactKey())
      const cleared = await clearedAt()
      return rows.filter(({ seq }) => seq > cleared).map(infoIn)
    },
    chunks: async (artifactId, version) => {
      const rows = await allRows(store, key, changesPrefix(artifactId, version))
      const cleared = await clearedAt()
      const current = rows.filter(({ seq }) => seq > cleared)
      const chunks = current.map(({ seq }) => store.read(key, { from: seq, to: seq, kept: true }))
      const found = (await Promise.all(chunks)).flat()
      if (found.length < current.length) throw prunedVersion(artifactId, version)
      return found.map((entry: Entry) => dataOf(entry, 'artifact'))
    },
    record: (change, refs = []) =>
      record({ type: 'artifact', data: change, ...(refs.length === 0 ? {} : { refs }) }),
    putBlob: (bytes) => store.putBlob(key, bytes),
    getBlob: (hash) => store.getBlob(key, hash),
  }
  return artifacts(port)
}

async function allRows(
  store: Store,
  key: JournalStateOptions['key'],
  prefix: string,
): Promise<readonly IndexRow[]> {
  const rows: IndexRow[] = []
  for (;;) {
    const after = rows.at(-1)?.key
    const page = await store.lookup(key, {
      index: 'artifact',
      prefix,
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    })
    rows.push(...page)
    if (page.length < PAGE) return rows
  }
}

/** A version without some of its chunks would read as a shorter file. */
function prunedVersion(artifactId: string, version: number): HoldfastError {
  return new HoldfastError('pruned', {
    message: `Version ${version} of artifact ${quote(artifactId)} was pruned, or a part of it. Write it again.`,
    details: { artifactId, version },
  })
}

function infoIn({ value }: IndexRow): ArtifactInfo {
  return value as unknown as ArtifactInfo
}
