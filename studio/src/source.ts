/** Sources of a research answer, as a node of the research graph writes them into the journal. Pure. */
import { isObject, type Json, type JsonObject, textIn } from './types.ts'

export interface Source {
  readonly number: number
  readonly kind: 'document' | 'web'
  readonly passageId: string
  readonly title: string
  /** A path or an address. */
  readonly source: string
  /** Undefined for a document without pages. */
  readonly page?: number
  readonly quote: string
}

/** The answer that a node has written, with its sources; undefined for any other node. */
export function answerIn(update: Json | undefined): { text: string; sources: readonly Source[] } | undefined {
  if (!isObject(update)) return undefined
  const text = textIn(update['final_answer'])
  if (text === undefined || text === '') return undefined
  const context = update['context']
  const found = isObject(context) && Array.isArray(context['sources']) ? context['sources'] : []
  return {
    text,
    sources: (found as readonly Json[]).flatMap((each) => (isObject(each) ? sourceOf(each) : [])),
  }
}

function sourceOf({ number, kind, passageId, title, source, page, quote }: JsonObject): readonly Source[] {
  if (typeof number !== 'number') return []
  return [
    {
      number,
      kind: kind === 'web' ? 'web' : 'document',
      passageId: textIn(passageId) ?? '',
      title: textIn(title) ?? '',
      source: textIn(source) ?? '',
      quote: textIn(quote) ?? '',
      ...(typeof page === 'number' && !WITHOUT_PAGES.test(textIn(source) ?? '') ? { page } : {}),
    },
  ]
}

/** Formats without pages: journals of older versions have page 1 for them. */
const WITHOUT_PAGES = /\.(?:md|markdown|docx|html?|txt)$/i
const MARKDOWN = /\.(?:md|markdown)$/i

/** The heading above a quote in a Markdown document, as far as the text around it has one. */
export function sectionOf(
  source: string,
  { before, text }: { readonly before: string; readonly text: string },
  quote: string,
): string | undefined {
  if (!MARKDOWN.test(source)) return undefined
  const above = before + splitAtQuote(text, quote)[0]
  const heading = [...above.matchAll(/^#{1,6}[^\S\n]+(\S[^\n]*)$/gm)].at(-1)?.[1]
  return heading?.replaceAll(/[*`]|\s+#+\s*$/g, '')
}

/** The text around a quote and the quote itself; blanks of any kind count as one. */
export function splitAtQuote(text: string, quote: string): readonly [string, string, string] {
  const words = quote.split(/\s+/).filter((word) => word !== '')
  if (words.length === 0) return [text, '', '']
  const pattern = words.map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('\\s+')
  const found = new RegExp(pattern, 'u').exec(text)
  if (found === null) return [text, '', '']
  const end = found.index + found[0].length
  return [text.slice(0, found.index), found[0], text.slice(end)]
}
