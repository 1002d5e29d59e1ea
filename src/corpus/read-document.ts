/** From a source to a document with its passages, ready to be indexed. Knows no index. */
import { createHash } from 'node:crypto'
import { HoldfastError, invalidOption, quote } from '../protocol/index.ts'
import type { Chunk, Chunker } from './chunk.ts'
import { DocumentError, type DocumentLimits, type ParsedDocument, type Parser, tooLarge } from './parser.ts'
import { cleanText } from './plain-text.ts'
import { extensionOf, type FoundSource, nameOf } from './sources.ts'

const LONGEST_TITLE = 300

/** The content of a source, and how it would be read. */
export interface SourceContent {
  readonly source: string
  readonly title?: string
  readonly bytes: Uint8Array
  readonly hash: string
  readonly parser: Parser
  /** The parser and the chunker: another one makes other passages of the same content. */
  readonly recipe: string
  /** The recipe of the same content at another source: its ending chooses the parser. */
  readonly recipeOf: (source: string) => string
  /** Of the content and the recipe: the passages of one id never change. */
  readonly id: string
}

export interface PassagePlace {
  /** Null: the document has no pages. */
  readonly page: number | null
  readonly start: number
  readonly end: number
  readonly text: string
}

export interface ReadDocument {
  readonly title: string
  readonly pages: number | null
  readonly passages: readonly PassagePlace[]
}

export interface ReadOptions {
  readonly parsers: readonly Parser[]
  readonly chunker: Chunker
  readonly limits: Required<DocumentLimits>
  readonly signal?: AbortSignal
}

const ID_LENGTH = 16

/** Throws `invalid-option` for a parser that could read no file. */
export function checkParsers(parsers: readonly unknown[]): void {
  for (const each of parsers) {
    const given = Object(each) as Readonly<Record<string, unknown>>
    const { id, extensions } = given
    const isParser = typeof id === 'string' && typeof given['parse'] === 'function'
    if (isParser && Array.isArray(extensions) && extensions.every(isExtension)) continue
    throw invalidOption(
      'parsers',
      'must be a list of { id, extensions, parse }, with endings in lower case and without a dot, such as "tex"',
    )
  }
}

function isExtension(given: unknown): boolean {
  return typeof given === 'string' && !given.includes('.') && given === given.toLowerCase()
}

export async function readContent(found: FoundSource, options: ReadOptions): Promise<SourceContent> {
  const { source } = found
  const title = oneLine(found.title ?? '')
  const parser = parserOf(source, options)
  if (parser === undefined && !found.isUnreadable) throw unsupported(source, options.parsers)
  const bytes = await found.read()
  if (parser === undefined) throw unsupported(source, options.parsers)
  const hash = sha256(bytes)
  const recipeOf = (each: string): string => `${parserOf(each, options)?.id ?? ''} ${options.chunker.id}`
  const recipe = recipeOf(source)
  const id = sha256(Buffer.from(`${hash} ${recipe}`)).slice(0, ID_LENGTH)
  return { source, bytes, hash, parser, recipe, recipeOf, id, ...(title === '' ? {} : { title }) }
}

function parserOf(source: string, { parsers }: ReadOptions): Parser | undefined {
  return parsers.find(({ extensions }) => extensions.includes(extensionOf(source)))
}

export async function readDocument(content: SourceContent, options: ReadOptions): Promise<ReadDocument> {
  const { source, bytes, parser } = content
  if (bytes.byteLength === 0) throw new DocumentError('no-text', 'The file is empty.')
  const { signal } = options
  const parsed = await parse(parser, { source, bytes, ...(signal === undefined ? {} : { signal }) })
  checkParsed(parsed, parser)
  const pages = checkedPages(parsed, options.limits).map(cleanText)
  const { isPaged = true } = parsed
  const passages = pages.flatMap((page, at) => passagesOf(page, isPaged ? at + 1 : null, options.chunker))
  if (passages.length === 0) throw new DocumentError('no-text', withoutText(pages.length))
  return { title: titleOf(content, parsed), pages: isPaged ? pages.length : null, passages }
}

async function parse(parser: Parser, file: Parameters<Parser['parse']>[0]): Promise<ParsedDocument> {
  try {
    return await parser.parse(file)
  } catch (error) {
    file.signal?.throwIfAborted()
    if (error instanceof DocumentError) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new DocumentError('malformed', `The document cannot be read: ${why}`)
  }
}

/** A parser of a user may return anything. */
function checkParsed(parsed: unknown, { id }: Parser): void {
  const { pages, title } = Object(parsed) as { readonly pages?: unknown; readonly title?: unknown }
  const isTitled = title === undefined || title === null || typeof title === 'string'
  if (isTitled && Array.isArray(pages) && pages.every((page) => typeof page === 'string')) return
  throw new HoldfastError('option-failed', {
    message: `The parser ${quote(id)} must return { pages }, with the text of each page, and a title as text, if there is one.`,
    details: { option: 'parsers' },
  })
}

function checkedPages({ pages }: ParsedDocument, limits: Required<DocumentLimits>): readonly string[] {
  if (pages.length > limits.pages) throw tooLarge('pages', limits.pages)
  const characters = pages.reduce((total, { length }) => total + length, 0)
  if (characters > limits.characters) throw tooLarge('characters', limits.characters)
  return pages
}

function passagesOf(page: string, number: number | null, chunker: Chunker): readonly PassagePlace[] {
  const chunks = chunker.chunk(page)
  checkChunks(chunks, page, chunker)
  return chunks.map(({ start, end }) => ({ page: number, start, end, text: page.slice(start, end) }))
}

/** A chunker of a user may return anything. */
function checkChunks(chunks: unknown, page: string, { id }: Chunker): void {
  if (Array.isArray(chunks) && chunks.every((chunk) => isChunk(chunk, page))) return
  throw new HoldfastError('option-failed', {
    message: `The chunker ${quote(id)} must return a list of { start, end }, with whole numbers within the page.`,
    details: { option: 'chunker' },
  })
}

function isChunk(chunk: unknown, page: string): boolean {
  const { start, end } = Object(chunk) as Chunk
  return Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start < end && end <= page.length
}

function withoutText(pages: number): string {
  return pages > 1
    ? `None of the ${pages} pages has text. If they are scans, recognise their text first, for example with ocrmypdf.`
    : 'The document has no text. If it is a scan, recognise its text first, for example with ocrmypdf.'
}

function titleOf({ source, title }: SourceContent, parsed: ParsedDocument): string {
  return title ?? (oneLine(parsed.title ?? '') || nameOf(source).slice(0, LONGEST_TITLE).toWellFormed())
}

function oneLine(title: string): string {
  return cleanText(title).replaceAll(/\s+/g, ' ').trim().slice(0, LONGEST_TITLE).toWellFormed()
}

function unsupported(source: string, parsers: readonly Parser[]): DocumentError {
  const extension = extensionOf(source)
  const known = parsers.flatMap(({ extensions }) => extensions).join(', ')
  const what = extension === '' ? 'Files without an ending are' : `Files ending in .${extension} are`
  return new DocumentError('unsupported', `${what} not read. Formats are ${known}.`)
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
