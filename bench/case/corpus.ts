/** The corpus: adding documents and searching passages, beside a plain FTS5 table in the same run. */
import { spawnSync } from 'node:child_process'
import { statSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { sentenceChunker, sqliteCorpus } from 'holdfast/research'
import { PDFDocument, StandardFonts } from 'pdf-lib'
import { CORPUS } from '../kit/budgets.ts'
import { interleave, quantile } from '../kit/measure.ts'
import { type Budget, type Case, compare, type Lab, type Row } from '../kit/result.ts'

const DOCUMENTS = 100
const PASSAGES_EACH = 100
const QUERIES = 200
const PAGES = 1000
/** The most memory of the process that reads the PDFs. */
const READER_MB = 256

export const corpus: Case = {
  name: 'corpus',
  title: 'adding and searching 10,000 passages; a PDF of 1,000 pages',
  measured:
    'texts of 100 passages each, added by add() against the same passages inserted into a plain FTS5 table, one transaction a document; the size of both files; questions of four words, search() with its scores against the five best rows of the table by bm25, with stop words and without any score. The PDF is read by a process that is ended above 256 MB; peak memory is that of the process that adds it, with 1,000 pages against 100.',
  notMeasured: 'embeddings; other formats; a cold disk.',
  run: async (lab) => [...(await textRows(lab)), ...(await pdfRows(lab))],
}

async function textRows(lab: Lab): Promise<readonly Row[]> {
  const texts = Array.from({ length: DOCUMENTS }, (_, at) => textOf(at))
  const chunker = sentenceChunker()
  const cut = texts.map((text) => chunker.chunk(text).map(({ start, end }) => text.slice(start, end)))
  const passages = cut.reduce((total, { length }) => total + length, 0)
  const paths = { ours: lab.path('corpus.db'), plain: lab.path('plain.db') }
  const ours = sqliteCorpus(paths.ours)
  const addedMs = await millis(() =>
    ours.add(texts.map((text, at) => ({ source: `${at}.txt`, content: text }))),
  )
  const table = new DatabaseSync(paths.plain)
  const insertedMs = await millis(() => fill(table, cut))
  const questions = Array.from({ length: QUERIES }, (_, at) => questionOf(at))
  const best = table.prepare('SELECT text FROM passage WHERE passage MATCH ? ORDER BY rank LIMIT 5')
  const took = { ours: [] as number[], plain: [] as number[] }
  await interleave(
    { rounds: lab.short ? 2 : 5, seconds: lab.seconds },
    {
      plain: () => latencies(took.plain, questions, (words) => best.all(words.join(' OR '))),
      ours: () => latencies(took.ours, questions, (words) => ours.search(`What about ${words.join(' ')}?`)),
    },
  )
  await ours.close()
  table.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  table.close()
  const row = beside('FTS5', 'corpus')
  const rate = (ms: number) => passages / (ms / 1000)
  const size = (path: string) => statSync(path).size / 1024 / 1024
  return [
    row(`adding ${passages} passages`, 'passages/s', [rate(insertedMs), rate(addedMs), CORPUS.add]),
    row('size of the file', 'MB', [size(paths.plain), size(paths.ours), CORPUS.size]),
    row('search, p50', 'ms', [partOf(took.plain, 0.5), partOf(took.ours, 0.5), CORPUS.search]),
    row('search, p99', 'ms', [partOf(took.plain, 0.99), partOf(took.ours, 0.99)]),
  ]
}

async function pdfRows(lab: Lab): Promise<readonly Row[]> {
  const few = await addPdf(lab.path('few.pdf'), PAGES / 10)
  const many = await addPdf(lab.path('many.pdf'), PAGES)
  const row = beside('100 pages', '1,000 pages')
  return [
    row('PDF, peak memory', 'MB', [few.megabytes, many.megabytes, CORPUS.memory]),
    row('PDF, time', 'ms', [few.ms, many.ms]),
  ]
}

type Pair = readonly [baseline: number, subject: number, budget?: Budget]

function beside(baseline: string, subject: string): (what: string, unit: string, pair: Pair) => Row {
  return (what, unit, [one, other, budget]) =>
    compare({ what, unit, baseline: [baseline, [one]], subject: [subject, [other]], budget })
}

function partOf(figures: readonly number[], part: number): number {
  return quantile(
    figures.toSorted((a, b) => a - b),
    part,
  )
}

async function millis(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

async function latencies(
  into: number[],
  questions: readonly (readonly string[])[],
  ask: (words: readonly string[]) => unknown,
): Promise<number> {
  const start = performance.now()
  for (const words of questions) into.push(await millis(() => ask(words)))
  return performance.now() - start
}

function fill(table: DatabaseSync, documents: readonly (readonly string[])[]): void {
  table.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE VIRTUAL TABLE passage USING fts5(text)',
  )
  const insert = table.prepare('INSERT INTO passage (text) VALUES (?)')
  for (const passages of documents) {
    table.exec('BEGIN')
    for (const text of passages) insert.run(text)
    table.exec('COMMIT')
  }
}

const VOCABULARY = 5000

/** A word by its rank: some are in every passage, most are rare, as in a language. */
function wordAt(seed: number): string {
  const share = ((seed * 2654435761) % 4294967296) / 4294967296
  const rank = Math.floor(VOCABULARY ** share)
  return `w${rank.toString(36)}${'aeiou'[rank % 5] ?? ''}n`
}

function textOf(document: number): string {
  const words = PASSAGES_EACH * 80
  let text = ''
  for (let at = 0; at < words; at++) {
    const isEnd = at % 12 === 11
    text += `${wordAt(document * words + at)}${isEnd ? '. ' : ' '}`
  }
  return text
}

function questionOf(at: number): readonly string[] {
  return Array.from({ length: 4 }, (_, word) => wordAt(at * 977 + word * 131 + 7))
}

interface PdfFigures {
  readonly ms: number
  readonly megabytes: number
}

/** The peak memory and the time of a process that adds a PDF. */
async function addPdf(path: string, pages: number): Promise<PdfFigures> {
  const pdf = await PDFDocument.create()
  const font = await pdf.embedFont(StandardFonts.Helvetica)
  for (let page = 0; page < pages; page++) {
    const lines = Array.from({ length: 40 }, (_, line) =>
      Array.from({ length: 10 }, (__, word) => wordAt(page * 400 + line * 10 + word)).join(' '),
    )
    pdf.addPage().drawText(lines.join('\n'), { x: 40, y: 780, size: 10, font, lineHeight: 14 })
  }
  writeFileSync(path, await pdf.save())
  const code = `
    import { sqliteCorpus } from 'holdfast/research'
    const corpus = sqliteCorpus(${JSON.stringify(`${path}.db`)}, { limits: { megabytes: ${READER_MB} } })
    const start = performance.now()
    const { added, skipped } = await corpus.add([${JSON.stringify(path)}])
    if (added[0]?.pages !== ${pages}) throw new Error(JSON.stringify(skipped))
    const ms = performance.now() - start
    await corpus.close()
    console.log(JSON.stringify({ ms, megabytes: process.resourceUsage().maxRSS / 1024 }))`
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], {
    cwd: import.meta.dirname,
  })
  if (status !== 0) throw new Error(`A child process failed:\n${stderr.toString()}`)
  return JSON.parse(stdout.toString()) as PdfFigures
}
