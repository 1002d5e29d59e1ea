/** Kills a process that adds documents at random moments, and compares the index with that of a run without kills. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { programFile } from '../build/programs.ts'
import { pdfOf } from './pdf-of.ts'

export interface KillOptions {
  readonly kills: number
  readonly seed: number
  /** Default: 60. */
  readonly documents?: number
  readonly onKill?: () => void
}

export interface KillReport {
  readonly documents: number
  readonly passages: number
  /** Processes that were started, the last one to its end. */
  readonly runs: number
  readonly problems: readonly string[]
}

const LONGEST_MS = 150

export async function killTrial({ kills, seed, documents = 60, onKill }: KillOptions): Promise<KillReport> {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-kill-documents-'))
  const folder = join(root, 'papers')
  const [quiet, shared, killed] = ['quiet.db', 'shared.db', 'killed.db'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ]
  try {
    await writePapers(folder, seed, documents)
    await ended(start(quiet, folder))
    // Two processes at once.
    await Promise.all([ended(start(shared, folder)), ended(start(shared, folder))])
    const problems = [...differences(quiet, shared)]
    let runs = 0
    for (let kill = 0; kill < kills; kill++) {
      // A finished index is begun anew, so that every kill finds work to interrupt.
      if (kill > 0 && countDocuments(killed) === documents) {
        problems.push(...differences(quiet, killed))
        for (const end of ['', '-wal', '-shm']) rmSync(`${killed}${end}`, { force: true })
      }
      await killOnce(start(killed, folder), (kill * 37 + seed) % LONGEST_MS)
      runs += 1
      problems.push(...damages(killed))
      onKill?.()
    }
    await ended(start(killed, folder))
    problems.push(...differences(quiet, killed))
    return { ...totals(quiet), runs: runs + 1, problems }
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** Texts and a PDF in every ten, with different lengths. */
async function writePapers(folder: string, seed: number, documents: number): Promise<void> {
  mkdirSync(folder)
  for (let at = 0; at < documents; at++) {
    const sentence = `Paper ${at} of ${seed} measures the tide at station ${at * 7}. `
    const name = join(folder, `paper-${String(at).padStart(3, '0')}`)
    if (at % 10 === 0) writeFileSync(`${name}.pdf`, await pdfOf([sentence, `Second page. ${sentence}`]))
    else writeFileSync(`${name}.txt`, sentence.repeat(20 + at * 20))
  }
}

function start(corpus: string, folder: string): ChildProcess {
  return spawn(process.execPath, [programFile('test/corpus/adding-process.ts'), corpus, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'] ?? '', NODE_NO_WARNINGS: '1' },
  })
}

async function ended(child: ChildProcess): Promise<void> {
  child.stdout?.resume()
  const code = await new Promise((resolve) => child.once('exit', resolve))
  if (code !== 0) throw new Error(`The process that adds documents ended with ${String(code)}.`)
}

/** At a random moment after its first document began. */
async function killOnce(child: ChildProcess, afterMs: number): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve))
  await Promise.race([gone, new Promise((resolve) => child.stdout?.once('data', resolve))])
  child.stdout?.resume()
  await Promise.race([gone, sleep(afterMs)])
  child.kill('SIGKILL')
  await gone
}

const PASSAGES =
  'SELECT d.name, d.source, d.hash, d.title, d.pages, d.passages, p.number, p.page, p.start_at, p.end_at, p.text FROM document d JOIN passage p ON p.document = d.id ORDER BY d.source, p.number'
const WORDS = 'SELECT term, doc, cnt FROM temp.words ORDER BY term'

function differences(one: string, other: string): readonly string[] {
  const [expected, found] = [contentOf(one), contentOf(other)]
  return [
    ...(expected.passages === found.passages ? [] : ['the passages differ']),
    ...(expected.words === found.words ? [] : ['the words of the index differ']),
  ]
}

function contentOf(path: string): { passages: string; words: string } {
  return withFile(path, (db) => {
    db.exec("CREATE VIRTUAL TABLE temp.words USING fts5vocab('main', 'passage_text', 'row')")
    return {
      passages: JSON.stringify(db.prepare(PASSAGES).all()),
      words: JSON.stringify(db.prepare(WORDS).all()),
    }
  })
}

/** After a kill: the file is sound, and every document is whole. */
function damages(path: string): readonly string[] {
  return withFile(path, (db) => {
    const tables = db.prepare("SELECT count(*) AS count FROM sqlite_schema WHERE name = 'passage_text'").get()
    if (tables?.['count'] === 0) return []
    const { integrity_check: sound } = db.prepare('PRAGMA integrity_check').get() as {
      integrity_check: string
    }
    const torn = db
      .prepare(
        'SELECT source FROM document d WHERE passages <> (SELECT count(*) FROM passage WHERE document = d.id)',
      )
      .all()
    const stray = db
      .prepare(
        'SELECT (SELECT count(*) FROM passage WHERE document NOT IN (SELECT id FROM document)) + abs((SELECT count(*) FROM passage) - (SELECT count(*) FROM passage_text_docsize)) AS count',
      )
      .get()
    return [
      ...(sound === 'ok' ? [] : [`the file is damaged: ${sound}`]),
      ...torn.map(({ source }) => `${String(source)} is not whole`),
      ...(stray?.['count'] === 0 ? [] : ['passages and index do not match']),
    ]
  })
}

function countDocuments(path: string): number {
  return withFile(path, (db) => {
    const tables = db.prepare("SELECT count(*) AS count FROM sqlite_schema WHERE name = 'document'").get()
    if (tables?.['count'] === 0) return 0
    return db.prepare('SELECT count(*) AS count FROM document').get()?.['count'] as number
  })
}

function totals(path: string): { documents: number; passages: number } {
  return withFile(path, (db) =>
    db
      .prepare(
        'SELECT (SELECT count(*) FROM document) AS documents, (SELECT count(*) FROM passage) AS passages',
      )
      .get(),
  ) as { documents: number; passages: number }
}

function withFile<T>(path: string, read: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path)
  try {
    return read(db)
  } finally {
    db.close()
  }
}
