/** The references of entries to blobs. They are derived from the entries, and decide when a blob is deleted. */
import type { Owner } from '../../protocol/index.ts'
import type { Cell, Database } from './database.ts'

const USE = 'INSERT OR IGNORE INTO blob_use (context, seq, blob) VALUES (?, ?, ?)'

export function useBlob(db: Database, { id, seq, blob }: { id: number; seq: number; blob: number }): void {
  db.run(USE, id, seq, blob)
}

/** Stores the references of a context anew. Those of entries that cannot be read are left as they are. */
export function rebuildUses(db: Database, id: number, owner: Owner): void {
  const unreadable = new Set<Cell>()
  const named = namedHashes(db, id, (seq) => unreadable.add(seq))
  for (const [seq] of db.all('SELECT DISTINCT seq FROM blob_use WHERE context = ?', id))
    if (!unreadable.has(seq as Cell))
      db.run('DELETE FROM blob_use WHERE context = ? AND seq = ?', id, seq as Cell)
  const use = `INSERT OR IGNORE INTO blob_use (context, seq, blob)
    SELECT ?, ?, id FROM blob WHERE tenant = ? AND actor = ? AND hash = ?`
  for (const [seq, hash] of named) db.run(use, id, seq, owner.tenant, owner.actor, hash)
}

/** Positions of a context whose stored references differ from those that their entries name. */
export function wrongUses(db: Database, id: number, owner: Owner): number[] {
  const unreadable = new Set<Cell>()
  const named = namedHashes(db, id, (seq) => unreadable.add(seq)).map((pair) => pair.join(' '))
  const sql = `SELECT u.seq, b.hash FROM blob_use u
    LEFT JOIN blob b ON b.id = u.blob AND b.tenant = ? AND b.actor = ? WHERE u.context = ?`
  const stored = db.all(sql, owner.tenant, owner.actor, id).map((pair) => pair.join(' '))
  const [isNamed, isStored] = [new Set(named), new Set(stored)]
  const wrong = [...named.filter((one) => !isStored.has(one)), ...stored.filter((one) => !isNamed.has(one))]
  const positions = new Set(wrong.map((pair) => Number.parseInt(pair, 10)))
  return [...positions].filter((seq) => !unreadable.has(seq)).sort((x, y) => x - y)
}

/** The given blobs that neither the table nor its index lists as used: damage to only one of them deletes no bytes. */
export function unusedBlobs(db: Database, blobs: readonly number[]): number[] {
  const indexed = 'SELECT 1 FROM blob_use INDEXED BY blob_use_by_blob WHERE blob = ? LIMIT 1'
  const free = new Set(blobs.filter((blob) => db.get(indexed, blob) === undefined))
  if (free.size === 0) return []
  // Without the order, SQLite reads the index instead of the table.
  const table = 'SELECT blob FROM blob_use NOT INDEXED ORDER BY context'
  for (const [blob] of db.iterate(table)) free.delete(blob as number)
  return [...free]
}

/** The hashes that the entries of a context name, with their positions, each once. */
function namedHashes(db: Database, id: number, onUnreadable: (seq: number) => void): [number, string][] {
  const found: [number, string][] = []
  for (const [seq, extra] of db.all(
    'SELECT seq, extra FROM entry WHERE context = ? AND extra IS NOT NULL',
    id,
  )) {
    try {
      for (const hash of hashesIn(extra as string)) found.push([seq as number, hash])
    } catch {
      onUnreadable(seq as number)
    }
  }
  return found
}

function hashesIn(extra: string): Set<string> {
  const { cuts = [], refs = [] } = JSON.parse(extra) as {
    readonly cuts?: readonly { readonly hash: string }[]
    readonly refs?: readonly string[]
  }
  return new Set([...cuts.map(({ hash }) => hash), ...refs])
}
