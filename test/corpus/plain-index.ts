/** A plain FTS5 table of the passages of a corpus, for comparison: the same tokenizer, bm25, and no ranking of ours. */
import { DatabaseSync } from 'node:sqlite'

export interface PlainPassage {
  readonly source: string
  readonly page: number | null
  readonly text: string
}

/** All words of a question, joined by OR, best five by bm25. */
export function plainIndex(corpusFile: string): (question: string) => readonly PlainPassage[] {
  const db = new DatabaseSync(':memory:')
  db.exec(`ATTACH '${corpusFile}' AS c`)
  db.exec(
    `CREATE VIRTUAL TABLE plain USING fts5(text, title, tokenize = 'porter unicode61 remove_diacritics 2');
     INSERT INTO plain (rowid, text, title)
       SELECT p.id, p.text, d.title FROM c.passage p JOIN c.document d ON d.id = p.document`,
  )
  const best = db.prepare(
    'SELECT d.source, nullif(p.page, 0) AS page, p.text FROM plain JOIN c.passage p ON p.id = plain.rowid JOIN c.document d ON d.id = p.document WHERE plain MATCH ? ORDER BY plain.rank LIMIT 5',
  )
  return (question) => {
    const words = question.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
    const query = words.map((word) => `"${word}"`).join(' OR ')
    return query === '' ? [] : (best.all(query) as unknown as readonly PlainPassage[])
  }
}
