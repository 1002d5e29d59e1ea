/**
 * `npm run retrieval -- QUESTIONS DOCUMENTS…`: recall at 5 and nDCG at 5 of the corpus on a file of questions, beside a
 * plain FTS5 table of the same passages and tokenizer without any ranking of ours.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { sqliteCorpus } from '../src/corpus/sqlite/sqlite-corpus.ts'
import { type Judged, judgeRanking } from '../test/corpus/judge-ranking.ts'
import { plainIndex } from '../test/corpus/plain-index.ts'
import { helpIfAsked, UsageError } from './usage.ts'

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
  readonly page: number | null
}

const [file, ...documents] = parseArgs({ allowPositionals: true }).positionals
if (file === undefined || documents.length === 0)
  throw new UsageError('Name the questions and the documents: npm run retrieval -- questions.json papers/')
const questions = JSON.parse(readFileSync(file, 'utf8')) as readonly Question[]
const folder = mkdtempSync(join(tmpdir(), 'holdfast-retrieval-'))
const path = join(folder, 'corpus.db')
const corpus = sqliteCorpus(path)
try {
  const { added, skipped } = await corpus.add(documents)
  for (const { source, reason } of skipped) console.log(`skipped ${source}: ${reason}`)
  console.log(`${questions.length} questions, ${added.length} documents`)
  print('corpus', await judge(async (question) => corpus.search(question)))
  const plain = plainIndex(path)
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
