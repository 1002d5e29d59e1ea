/** Evidence: passages and parts of web pages, each with its number. Failures are none. Pure. */
import type { WebPage } from '../../corpus/port.ts'
import { defined } from '../../protocol/index.ts'
import type { PdfResult, ResearchContext, WebResult } from './findings.ts'
import { contentStems, sentencesOf, shareOf } from './words.ts'

export interface Evidence {
  /** From 1. */
  readonly number: number
  readonly kind: 'document' | 'web'
  readonly id: string
  /** One for each document or page, to tell independent sources apart. */
  readonly documentId: string
  readonly title: string
  /** A path or an address. */
  readonly source: string
  /** Null for a web page, and for a document without pages. */
  readonly page: number | null
  readonly text: string
  /** The text before it on its page, as far as it explains it. */
  readonly lead: string
  readonly score: number
}

const MOST_EVIDENCE = 24

/** Documents first, then the web, which has room for half of it however many passages were found. */
export function evidenceOf({ pdf_results = [], web_results = [] }: ResearchContext): readonly Evidence[] {
  const documents = pdf_results.map(({ id, documentId, title, source, page, text, lead = '', score }) => ({
    kind: 'document' as const,
    ...{ id, documentId, title, source, page, text, lead, score },
  }))
  const pages = web_results.map(({ id, url, title, text, score }) => ({
    kind: 'web' as const,
    ...{ id, documentId: url, title, source: url, page: null, text, lead: '', score },
  }))
  const room = MOST_EVIDENCE - Math.min(pages.length, MOST_EVIDENCE / 2)
  return [...documents.slice(0, room), ...pages]
    .slice(0, MOST_EVIDENCE)
    .map((item, at) => ({ number: at + 1, ...item }))
}

const stems = new WeakMap<Evidence, readonly string[]>()

/** The stems of its title and its text. */
export function evidenceStems(item: Evidence): readonly string[] {
  const known = stems.get(item)
  if (known !== undefined) return known
  const found = contentStems(`${item.title} ${item.text}`)
  stems.set(item, found)
  return found
}

/** Each passage once, with its best score, in the order of the first finds. */
export function withoutDuplicates<T extends { readonly id: string; readonly score: number }>(
  results: readonly T[],
): readonly T[] {
  const best = new Map<string, T>()
  for (const result of results) {
    const known = best.get(result.id)
    if (known === undefined || known.score < result.score) best.set(result.id, result)
  }
  return [...best.values()]
}

const EXCERPT_CHARS = 600
const EXCERPTS_A_PAGE = 2

/** The parts of a page that have most of the query's words. A page without any of them gives none. */
export function excerptsOf({ url, title, text }: WebPage, query: string): readonly WebResult[] {
  const wanted = contentStems(query)
  const parts = partsOf(text).map((part, at) => ({
    id: `${url}#${at + 1}`,
    url,
    title,
    text: part,
    score: round(shareOf(wanted, contentStems(`${title} ${part}`))),
  }))
  const found = parts.filter(({ text: part }) => shareOf(wanted, contentStems(part)) > 0)
  return found.toSorted((a, b) => b.score - a.score).slice(0, EXCERPTS_A_PAGE)
}

function partsOf(text: string): readonly string[] {
  const parts: string[] = []
  for (const sentence of sentencesOf(text).flatMap(piecesOf)) {
    const last = parts.at(-1)
    if (last !== undefined && last.length + sentence.length < EXCERPT_CHARS)
      parts[parts.length - 1] = `${last} ${sentence}`
    else parts.push(sentence)
  }
  return parts
}

const PIECE = new RegExp(String.raw`.{1,${EXCERPT_CHARS}}(?!\S)|.{1,${EXCERPT_CHARS}}`, 'gsu')

/** A text without stops is a long sentence. */
function piecesOf(sentence: string): readonly string[] {
  return sentence.match(PIECE)?.map((piece) => piece.trim()) ?? []
}

export function round(number: number): number {
  return Math.round(number * 100) / 100
}

/** A passage as JSON: a corpus may add fields of its own. */
export function pdfResult(passage: PdfResult): PdfResult {
  const { id, documentId, title, source, page, start, end, text, lead, score } = passage
  return { id, documentId, title, source, page, start, end, text, score, ...defined({ lead }) }
}
