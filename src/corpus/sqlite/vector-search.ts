/**
 * Vectors of passages: exact nearest neighbours, by sqlite-vec where it is installed, else in JavaScript. They are plain
 * rows, so the file is the same with and without the extension.
 */
import { createRequire } from 'node:module'
import { batchSize, cosine, type EmbeddingModel, embed, embeddingId } from '../embedding.ts'
import { byScore, type Ranked } from '../rank.ts'
import type { DatabaseSync } from './node-sqlite.ts'
import { inTransaction } from './open-corpus.ts'

/** Loads sqlite-vec into the connection; false if it is not installed, or does not load here. */
export function loadVectorExtension(db: DatabaseSync): boolean {
  try {
    const extension = createRequire(import.meta.url)('sqlite-vec') as { getLoadablePath(): string }
    db.enableLoadExtension(true)
    db.loadExtension(extension.getLoadablePath())
    return true
  } catch {
    return false
  } finally {
    db.enableLoadExtension(false)
  }
}

interface Missing {
  readonly id: number
  readonly text: string
}

export interface EmbedOptions {
  readonly signal?: AbortSignal
  readonly onProgress?: (done: number, total: number) => void
}

/** Runs work on the connection to the file, which may be another one for each piece of work. */
export type Query = <T>(work: (db: DatabaseSync) => T) => T

/** Embeds every passage without a vector of this model. Each batch is stored, so an interrupted call is not lost. */
export async function embedMissing(
  query: Query,
  model: EmbeddingModel,
  { signal, onProgress }: EmbedOptions,
): Promise<void> {
  const id = embeddingId(model)
  const size = await batchSize(model)
  const total = query((db) => countMissing(db, id))
  let last = 0
  for (let done = 0; ; ) {
    const batch = query((db) => nextMissing(db, id, { last, size }))
    if (batch.length === 0) return
    onProgress?.(done, Math.max(total, done + batch.length))
    const vectors = await embed(
      model,
      batch.map(({ text }) => text),
      signal,
    )
    query((db) => writeVectors(db, id, { batch, vectors }))
    last = batch.at(-1)?.id ?? last
    done += batch.length
  }
}

const MISSING =
  'FROM passage p WHERE NOT EXISTS (SELECT 1 FROM vector v WHERE v.passage = p.id AND v.model = ?)'

function countMissing(db: DatabaseSync, model: string): number {
  const { total } = db.prepare(`SELECT count(*) AS total ${MISSING}`).get(model) as { total: number }
  return total
}

function nextMissing(
  db: DatabaseSync,
  model: string,
  { last, size }: { readonly last: number; readonly size: number },
): readonly Missing[] {
  const next = db.prepare(`SELECT p.id, p.text ${MISSING} AND p.id > ? ORDER BY p.id LIMIT ?`)
  return next.all(model, last, size) as unknown as readonly Missing[]
}

interface Embedded {
  readonly batch: readonly Missing[]
  readonly vectors: readonly Float32Array[]
}

/** Another process may have removed a passage meanwhile, and given its number to another one. */
function writeVectors(db: DatabaseSync, model: string, { batch, vectors }: Embedded): void {
  inTransaction(db, () => {
    const write = db.prepare(
      'INSERT OR REPLACE INTO vector (passage, model, data) SELECT id, ?, ? FROM passage WHERE id = ? AND text = ?',
    )
    for (const [at, { id, text }] of batch.entries()) write.run(model, bytesOf(vectors[at]), id, text)
  })
}

export interface VectorQuery {
  readonly model: string
  readonly vector: Float32Array
  readonly limit: number
  /** The cosine that counts as no similarity. */
  readonly floor: number
  readonly isExtended: boolean
}

/** Best first, those over the floor alone. The score is the cosine, stretched so that the floor is 0. */
export function vectorSearch(db: DatabaseSync, query: VectorQuery): readonly Ranked[] {
  const found = query.isExtended ? byExtension(db, query) : inJavaScript(db, query)
  return found
    .map(({ id, score }) => ({ id, score: Math.min(1, (score - query.floor) / (1 - query.floor)) }))
    .filter(({ score }) => score > 0)
}

function byExtension(db: DatabaseSync, { model, vector, limit }: VectorQuery): readonly Ranked[] {
  return db
    .prepare(
      'SELECT passage AS id, 1 - vec_distance_cosine(data, ?) AS score FROM vector WHERE model = ? AND length(data) = ? ORDER BY score DESC, passage LIMIT ?',
    )
    .all(bytesOf(vector), model, vector.byteLength, limit) as unknown as readonly Ranked[]
}

function inJavaScript(db: DatabaseSync, { model, vector, limit }: VectorQuery): readonly Ranked[] {
  const rows = db.prepare('SELECT passage, data FROM vector WHERE model = ?').iterate(model)
  const best: Ranked[] = []
  for (const { passage, data } of rows as unknown as Iterable<{ passage: number; data: Uint8Array }>) {
    const score = cosine(vector, vectorOf(data))
    if (best.length === limit && score <= (best.at(-1)?.score ?? 0)) continue
    best.push({ id: passage, score })
    best.sort(byScore)
    if (best.length > limit) best.pop()
  }
  return best
}

function bytesOf(vector: Float32Array | undefined): Uint8Array {
  const { buffer, byteOffset, byteLength } = vector ?? new Float32Array()
  return new Uint8Array(buffer, byteOffset, byteLength)
}

function vectorOf({ buffer, byteOffset, byteLength }: Uint8Array): Float32Array {
  return new Float32Array(buffer, byteOffset, byteLength / Float32Array.BYTES_PER_ELEMENT)
}
