/** The documents of a corpus, from the command line: adds, lists and removes them. */
import { existsSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import type { AddProgress, AddReport, Corpus, CorpusDocument, SkippedSource } from 'holdfast/research'
import { ERASE_LINE_END, joinLines, LINE_START, type Output, styled, yellow } from 'holdfast/terminal'
import { type CommandContext, columnsOf } from '../command/context.ts'
import { EXIT } from '../exit-code.ts'
import { homePath } from '../home-path.ts'
import { wrongUsage } from '../refusal.ts'
import { tableLines } from '../terminal/table.ts'
import { counted, cut, oneLine } from '../terminal/text.ts'
import { documentsCorpus } from './open-corpus.ts'

export async function addDocuments(context: CommandContext): Promise<number> {
  const { args, cwd, err } = context
  const paths = args.words.slice(1).map((path) => resolve(cwd, homePath(path)))
  if (paths.length === 0) throw wrongUsage('Name files or folders: holdfast research add FILES….')
  const known = await documentsCorpus(context, 'change')
  if (known === undefined && !paths.some((path) => existsSync(path))) return reportMissing(context, paths)
  const corpus = known ?? (await documentsCorpus(context, 'create'))
  const stop = new AbortController()
  const interrupt = (): void => stop.abort()
  const line = new ProgressLine(err, cwd)
  process.once('SIGINT', interrupt)
  try {
    const report = await corpus.add(paths, {
      signal: stop.signal,
      onProgress: (progress) => line.show(progress),
    })
    line.clear()
    return reported(context, report)
  } catch (error) {
    line.clear()
    if (!stop.signal.aborted) throw error
    err.write(styled`Stopped. Documents that were added are kept; the same command adds the rest.\n`)
    return EXIT.cancelled
  } finally {
    process.off('SIGINT', interrupt)
    await corpus.close()
  }
}

/** A mistyped path makes no corpus: an empty one would count as documents to search. */
function reportMissing(context: CommandContext, paths: readonly string[]): number {
  const skipped = [...new Set(paths)].map(
    (source): SkippedSource => ({ source, code: 'unreadable', reason: 'There is no such file.' }),
  )
  return reported(context, { added: [], unchanged: [], skipped, ignored: [] })
}

function reported(context: CommandContext, report: AddReport): number {
  if (context.args.has('json')) context.out.json(report)
  else printReport(context, report)
  return report.skipped.length === 0 ? EXIT.done : EXIT.failed
}

const MOST_NAMED = 10

function printReport(
  { out, err, cwd }: CommandContext,
  { added, unchanged, skipped, ignored }: AddReport,
): void {
  for (const { source, reason } of skipped)
    err.write(styled`${yellow('skipped')} ${oneLine(shownPath(source, cwd))}: ${oneLine(reason)}\n`)
  const others = ignored.slice(0, MOST_NAMED).map((path) => oneLine(shownPath(path, cwd)))
  const more = ignored.length - others.length
  if (ignored.length > 0)
    err.write(
      styled`not read, since they are no documents: ${others.join(', ')}${more > 0 ? ` and ${more} more` : ''}\n`,
    )
  const otherKinds = ignored.length === 0 ? '' : `, ${ignored.length} of other kinds`
  const passages = added.reduce((total, document) => total + document.passages, 0)
  const documents = counted(added.length, 'document')
  out.write(
    styled`Added ${documents} with ${counted(passages, 'passage')}; ${unchanged.length} unchanged, ${skipped.length} skipped${otherKinds}.\n`,
  )
}

export async function listDocuments(context: CommandContext): Promise<number> {
  const { args, out, err, cwd } = context
  checkWords(context, 1, 'list')
  const documents = await inCorpus(await documentsCorpus(context, 'read'), (corpus) => corpus.documents())
  if (args.has('json')) out.json(documents ?? [])
  else if (documents === undefined || documents.length === 0)
    err.write(styled`No documents yet. holdfast research add FILES adds some.\n`)
  else out.write(styled`${joinLines(documentLines(documents, { cwd, columns: columnsOf(out) }))}\n`)
  return EXIT.done
}

function documentLines(
  documents: readonly CorpusDocument[],
  { cwd, columns }: { readonly cwd: string; readonly columns: number },
) {
  const rows = documents.map(({ title, pages, passages, id, source }) => [
    oneLine(title),
    pages === null ? '-' : String(pages),
    String(passages),
    id,
    oneLine(shownPath(source, cwd)),
  ])
  return tableLines([['TITLE', 'PAGES', 'PASSAGES', 'ID', 'SOURCE'], ...rows], columns)
}

export async function removeDocument(context: CommandContext): Promise<number> {
  const { args, out, err } = context
  checkWords(context, 2, 'remove ID')
  const id = args.words[1] ?? ''
  const removed = await inCorpus(await documentsCorpus(context, 'change'), (corpus) => corpus.remove(id))
  if (args.has('json')) out.json({ removed: removed ?? null })
  else if (removed === undefined)
    err.write(styled`There is no document ${JSON.stringify(id)}. Run holdfast research list for the ids.\n`)
  else out.write(styled`Removed ${oneLine(removed.title)} with ${counted(removed.passages, 'passage')}.\n`)
  return removed === undefined ? EXIT.failed : EXIT.done
}

/** Undefined if there is no corpus yet. */
async function inCorpus<C extends Corpus, T>(
  corpus: C | undefined,
  use: (corpus: C) => Promise<T>,
): Promise<T | undefined> {
  try {
    return corpus && (await use(corpus))
  } finally {
    await corpus?.close()
  }
}

function checkWords({ args }: CommandContext, count: number, usage: string): void {
  if (args.words.length !== count) throw wrongUsage(`Type holdfast research ${usage}.`)
}

/** Relative to the working folder for files in it. */
function shownPath(source: SkippedSource['source'], cwd: string): string {
  const path = relative(cwd, source)
  return path === '' || path.startsWith('..') ? source : path
}

/** One line that is overwritten; nothing where the output is no terminal. */
class ProgressLine {
  readonly #output: Output
  readonly #cwd: string

  constructor(output: Output, cwd: string) {
    this.#output = output
    this.#cwd = cwd
  }

  show({ phase, done, total, source }: AddProgress): void {
    if (!this.#output.isTTY || total === 0) return
    const filled = Math.round((done / total) * BAR)
    const bar = `${'█'.repeat(filled)}${'░'.repeat(BAR - filled)}`
    const what = phase === 'embeddings' ? 'embeddings' : oneLine(shownPath(source ?? '', this.#cwd))
    const text = cut(`${bar} ${done} of ${total} ${what}`, columnsOf(this.#output) - 1)
    this.#output.write(styled`${LINE_START}${ERASE_LINE_END}${text}`)
  }

  clear(): void {
    if (this.#output.isTTY) this.#output.write(styled`${LINE_START}${ERASE_LINE_END}`)
  }
}

const BAR = 20
