/** The rows of documents and their passages. A document is written, replaced or removed in one transaction. */
import { existsSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import type { CorpusDocument, FoundPassage, Passage, PassageSurroundings } from '../port.ts'
import type { Ranked } from '../rank.ts'
import type { ReadDocument, SourceContent } from '../read-document.ts'
import { indexText } from '../search-text.ts'
import type { DatabaseSync } from './node-sqlite.ts'
import { inTransaction } from './open-corpus.ts'

interface DocumentRow {
  readonly id: number
  readonly name: string
  readonly source: string
  readonly hash: string
  readonly title: string
  /** 0: its format has none. */
  readonly pages: number
  readonly passages: number
  readonly recipe: string
  readonly added_at: number
}

interface PassageRow {
  readonly id: number
  readonly number: number
  /** 0: the document has no pages. */
  readonly page: number
  readonly start_at: number
  readonly end_at: number
  readonly text: string
  readonly name: string
  readonly title: string
  readonly source: string
}

const PASSAGE_COLUMNS =
  'p.id, p.number, p.page, p.start_at, p.end_at, p.text, d.name, d.title, d.source FROM passage p JOIN document d ON d.id = p.document'

/**
 * The stored document with this content, read as its source is read now; undefined if it has to be read. A moved file gets its
 * new path.
 */
export function findKnown(db: DatabaseSync, content: SourceContent): CorpusDocument | undefined {
  const { source, id, hash, title, recipe, recipeOf } = content
  const row = db.prepare('SELECT * FROM document WHERE hash = ?').get(hash) as DocumentRow | undefined
  if (row === undefined) return undefined
  const moved = row.source !== source && isAbsolute(row.source) && !existsSync(row.source)
  const isOwn = moved || row.source === source
  if (isOwn && title !== undefined && row.title !== title) return undefined
  if (row.recipe !== (moved ? recipe : recipeOf(row.source))) return undefined
  const stale = db.prepare('SELECT 1 FROM document WHERE source = ? AND hash <> ?').get(source, hash)
  if (!moved && stale === undefined) return documentOf(row)
  return inTransaction(db, () => {
    // The source had other content before.
    removeRows(db, 'source = ? AND hash <> ?', source, hash)
    if (moved) db.prepare('UPDATE document SET source = ? WHERE name = ?').run(source, id)
    return documentOf(moved ? { ...row, source } : row)
  })
}

export function isStored(db: DatabaseSync, { id }: CorpusDocument): boolean {
  return db.prepare('SELECT 1 FROM document WHERE name = ?').get(id) !== undefined
}

/** Replaces the document of the same source, and one with the same content. */
export function writeDocument(
  db: DatabaseSync,
  content: SourceContent,
  { document, addedAt }: { readonly document: ReadDocument; readonly addedAt: number },
): CorpusDocument {
  const { id, source, hash, recipe } = content
  const { title, pages, passages } = document
  return inTransaction(db, () => {
    removeRows(db, 'source = ? OR hash = ?', source, hash)
    const insert = db.prepare(
      'INSERT INTO document (name, source, hash, title, pages, passages, recipe, added_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    )
    const { lastInsertRowid } = insert.run(
      id,
      source,
      hash,
      title,
      pages ?? 0,
      passages.length,
      recipe,
      addedAt,
    )
    const addPassage = db.prepare(
      'INSERT INTO passage (document, number, page, start_at, end_at, text) VALUES (?, ?, ?, ?, ?, ?)',
    )
    const addText = db.prepare('INSERT INTO passage_text (rowid, text, title) VALUES (?, ?, ?)')
    const indexedTitle = indexText(title)
    for (const [at, { page, start, end, text }] of passages.entries()) {
      const added = addPassage.run(lastInsertRowid, at + 1, page ?? 0, start, end, text)
      addText.run(added.lastInsertRowid, indexText(text), indexedTitle)
    }
    return { id, title, source, pages, passages: passages.length, hash, addedAt }
  })
}

export function removeDocument(db: DatabaseSync, name: string): CorpusDocument | undefined {
  return inTransaction(db, () => {
    const row = db.prepare('SELECT * FROM document WHERE name = ?').get(name) as DocumentRow | undefined
    if (row !== undefined) removeRows(db, 'name = ?', name)
    return row && documentOf(row)
  })
}

function removeRows(db: DatabaseSync, where: string, ...values: readonly string[]): void {
  const ids = db.prepare(`SELECT id FROM document WHERE ${where}`).all(...values)
  for (const { id } of ids as unknown as readonly { readonly id: number }[]) {
    const passages = '(SELECT id FROM passage WHERE document = ?)'
    db.prepare(`DELETE FROM vector WHERE passage IN ${passages}`).run(id)
    db.prepare(`DELETE FROM passage_text WHERE rowid IN ${passages}`).run(id)
    db.prepare('DELETE FROM passage WHERE document = ?').run(id)
    db.prepare('DELETE FROM document WHERE id = ?').run(id)
  }
}

export function listDocuments(db: DatabaseSync): readonly CorpusDocument[] {
  const rows = db.prepare('SELECT * FROM document ORDER BY id').all() as unknown as readonly DocumentRow[]
  return rows.map(documentOf)
}

export function findPassage(db: DatabaseSync, passageId: string): Passage | undefined {
  const [, name, number] = /^(\w+)-(\d{1,9})$/.exec(passageId) ?? []
  if (name === undefined) return undefined
  const row = db
    .prepare(`SELECT ${PASSAGE_COLUMNS} WHERE d.name = ? AND p.number = ?`)
    .get(name, Number(number)) as PassageRow | undefined
  return row && passageOf(row)
}

/** The passages of one ranking, in its order. */
export function findRanked(db: DatabaseSync, ranked: readonly Ranked[]): readonly FoundPassage[] {
  const find = db.prepare(`SELECT ${PASSAGE_COLUMNS} WHERE p.id = ?`)
  return ranked.flatMap(({ id, score }) => {
    const row = find.get(id) as PassageRow | undefined
    return row === undefined ? [] : [{ ...passageOf(row), score }]
  })
}

/** The rest of the passages before and after it on the same page: passages overlap. */
export function findSurroundings(db: DatabaseSync, passageId: string): PassageSurroundings | undefined {
  const passage = findPassage(db, passageId)
  if (passage === undefined) return undefined
  const { documentId, page, start, end } = passage
  const number = Number(passageId.slice(documentId.length + 1))
  const rows = db
    .prepare(`SELECT ${PASSAGE_COLUMNS} WHERE d.name = ? AND p.page = ? AND p.number IN (?, ?)`)
    .all(documentId, page ?? 0, number - 1, number + 1) as unknown as readonly PassageRow[]
  const previous = rows.find((row) => row.number < number)
  const next = rows.find((row) => row.number > number)
  return {
    before: previous?.text.slice(0, Math.max(0, start - previous.start_at)) ?? '',
    after: next?.text.slice(Math.max(0, end - next.start_at)) ?? '',
  }
}

function passageOf({ name, number, title, source, page, start_at, end_at, text }: PassageRow): Passage {
  return {
    id: `${name}-${number}`,
    documentId: name,
    title,
    source,
    page: page || null,
    start: start_at,
    end: end_at,
    text,
  }
}

function documentOf({ name, title, source, pages, passages, hash, added_at }: DocumentRow): CorpusDocument {
  return { id: name, title, source, pages: pages || null, passages, hash, addedAt: added_at }
}
