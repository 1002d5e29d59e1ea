/**
 * `npm run retrieval -- QUESTIONS DOCUMENTS…`: recall at 5 and nDCG at 5 of the corpus on a file of questions, beside a
 * plain FTS5 table of the same passages without any ranking of ours.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { sqliteCorpus } from '../src/corpus/sqlite/sqlite-corpus.ts'
import { type Judged, judgeRanking } from '../test/corpus/judge-ranking.ts'
import { helpIfAsked } from './usage.ts'

helpIfAsked(`Usage: npm run retrieval -- QUESTIONS DOCUMENTS…

Recall at 5 and nDCG at 5, beside a plain FTS5 table of the same passages.

  QUESTIONS    a JSON file: [{ "question": "…", "answers": [{ "document": "tides.pdf", "page": 2 }] }];
               "page" may be left out; a question without answers must find nothing
  DOCUMENTS    files and folders, as for holdfast research add
  --help

Examples:
  npm run retrieval -- questions.json examples/papers`)

interface Question {
  readonly question: string
  readonly answers: readonly { readonly document: string; readonly page?: number }[]
}

interface Place {
  readonly source: string
  readonly page: number
}

const [file, ...documents] = parseArgs({ allowPositionals: true }).positionals
if (file === undefined || documents.length === 0)
  throw new Error('Name the questions and the documents: npm run retrieval -- questions.json papers/')
const questions = JSON.parse(readFileSync(file, 'utf8')) as readonly Question[]
const folder = mkdtempSync(join(tmpdir(), 'holdfast-retrieval-'))
const path = join(folder, 'corpus.db')
const corpus = sqliteCorpus(path)
try {
  const { added, skipped } = await corpus.add(documents)
  for (const { source, reason } of skipped) console.log(`skipped ${source}: ${reason}`)
  console.log(`${questions.length} questions, ${added.length} documents`)
  print('corpus', await judge(async (question) => corpus.search(question)))
  const plain = plainTable(path)
  print('plain FTS5', await judge(async (question) => plain(question)))
} finally {
  await corpus.close()
  rmSync(folder, { recursive: true, force: true })
}

async function judge(search: (question: string) => Promise<readonly Place[]>): Promise<Judged> {
  const rankings: { relevant: boolean[]; answers: string[] }[] = []
  for (const { question, answers } of questions) {
    const found = await search(question)
    const hits = found.map(({ source, page }) =>
      answers.find((answer) => answer.document === basename(source) && (answer.page ?? page) === page),
    )
    rankings.push({
      relevant: hits.map((hit) => hit !== undefined),
      answers: answers.map((answer) => (hits.includes(answer) ? 'found' : 'missed')),
    })
  }
  return judgeRanking(rankings)
}

function print(name: string, { recall, ndcg, refused, answerable, unanswerable }: Judged): void {
  const refusals = unanswerable === 0 ? '' : `, ${refused} of ${unanswerable} unanswerable ones find nothing`
  console.log(
    `${name.padEnd(12)} recall@5 ${recall.toFixed(3)}, nDCG@5 ${ndcg.toFixed(3)} (${answerable} questions)${refusals}`,
  )
}

/** All words of a question, joined by OR, best five by bm25. */
function plainTable(source: string): (question: string) => readonly Place[] {
  const db = new DatabaseSync(':memory:')
  db.exec(`ATTACH '${source}' AS c; CREATE VIRTUAL TABLE plain USING fts5(text)`)
  db.exec('INSERT INTO plain (rowid, text) SELECT id, text FROM c.passage')
  const best = db.prepare(
    'SELECT d.source, p.page FROM plain JOIN c.passage p ON p.id = plain.rowid JOIN c.document d ON d.id = p.document WHERE plain MATCH ? ORDER BY plain.rank LIMIT 5',
  )
  return (question) => {
    const words = question.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
    const query = words.map((word) => `"${word}"`).join(' OR ')
    return query === '' ? [] : (best.all(query) as unknown as readonly Place[])
  }
}
