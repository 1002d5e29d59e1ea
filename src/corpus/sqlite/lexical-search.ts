/** Full-text search: candidates by bm25, and the terms that each of them has. */
import { type LexicalCandidate, lexicalScores, type Ranked, type TermHits } from '../rank.ts'
import { queryTerms } from '../search-text.ts'
import { synonymsOf } from '../synonyms.ts'
import type { DatabaseSync } from './node-sqlite.ts'

/** `limit`: the most candidates. Best first; a passage without any term of the query is not among them. */
export function lexicalSearch(db: DatabaseSync, query: string, limit: number): readonly Ranked[] {
  // A phrase in quotes is text to FTS5, whatever its words are; terms have no quotes.
  const phrases = queryTerms(query).map((term) =>
    synonymsOf(term)
      .map((word) => `"${word}"`)
      .join(' OR '),
  )
  if (phrases.length === 0) return []
  const candidates = db
    .prepare(
      'SELECT rowid AS id, -rank AS bm25 FROM passage_text WHERE passage_text MATCH ? ORDER BY rank LIMIT ?',
    )
    .all(phrases.join(' OR '), limit) as unknown as readonly LexicalCandidate[]
  if (candidates.length === 0) return []
  const ids = JSON.stringify(candidates.map(({ id }) => id))
  const { total } = db.prepare('SELECT sum(passages) AS total FROM document').get() as { total: number }
  return lexicalScores(candidates, termHits(db, phrases, ids), total)
}

function termHits(db: DatabaseSync, phrases: readonly string[], candidates: string): readonly TermHits[] {
  const count = db.prepare(
    'SELECT count(*) AS count, json_group_array(rowid) FILTER (WHERE rowid IN (SELECT value FROM json_each(?))) AS hits FROM passage_text WHERE passage_text MATCH ?',
  )
  return phrases.map((phrase) => {
    const found = count.get(candidates, phrase) as { count: number; hits: string }
    return { count: found.count, hits: new Set(JSON.parse(found.hits) as readonly number[]) }
  })
}
