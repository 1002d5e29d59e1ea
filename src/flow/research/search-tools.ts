/** The tools of the research: passages of documents, and the web. Searching has no effect, so it may be repeated. */
import type { Corpus, FoundPassage } from '../../corpus/port.ts'
import { defined, type Json, type ToolResultPart } from '../../protocol/index.ts'
import { defineTool, jsonSchema, type Tool } from '../../tool/index.ts'
import { MOST_TOP_K, type ResearchAgentOptions } from './config.ts'
import { excerptsOf, pdfResult } from './evidence.ts'
import type { PdfResult, WebResult } from './findings.ts'
import { leadOf } from './statements.ts'

export const PDF_RETRIEVAL = 'pdf_retrieval'
export const WEB_SEARCH = 'web_search'

export type SearchName = typeof PDF_RETRIEVAL | typeof WEB_SEARCH

const QUERY = {
  type: 'string',
  minLength: 1,
  description: 'What to look for, in words that a text about it would use.',
} as const

export interface SearchOptions extends Pick<ResearchAgentOptions, 'corpus' | 'web' | 'minScore'> {
  readonly topK: number
}

export function pdfRetrieval({ corpus, minScore, topK }: SearchOptions): Tool {
  return defineTool({
    name: PDF_RETRIEVAL,
    description: 'Finds the passages of the user’s documents that fit a query best, with title and page.',
    input: jsonSchema<{ query: string; top_k?: number }>({
      type: 'object',
      properties: {
        query: QUERY,
        top_k: { type: 'integer', minimum: 1, maximum: MOST_TOP_K, description: `Default: ${topK}.` },
      },
      required: ['query'],
      additionalProperties: false,
    }),
    replay: 'safe',
    // A host decides who may ask; whoever may gets an answer.
    public: true,
    run: async ({ query, top_k = topK }, { signal }) => {
      const found = await corpus.search(query, { topK: top_k, signal, ...defined({ minScore }) })
      const chosen = found.slice(0, top_k).filter(({ score }) => score >= (minScore ?? 0))
      const passages = await Promise.all(chosen.map(async (passage) => withLead(passage, corpus)))
      return passages.length > 0 ? { passages } : { passages, documents: (await corpus.documents()).length }
    },
  })
}

async function withLead(passage: FoundPassage, corpus: Corpus): Promise<PdfResult> {
  const around = await corpus.surroundings?.(passage.id)
  const lead = leadOf(around?.before ?? '')
  return pdfResult(lead === '' ? passage : { ...passage, lead })
}

const MOST_PAGES = 5

export function webSearch({ web }: SearchOptions): Tool | undefined {
  if (web === undefined) return undefined
  return defineTool({
    name: WEB_SEARCH,
    description: 'Searches the web, and returns the parts of pages that fit the query best.',
    input: jsonSchema<{ query: string }>({
      type: 'object',
      properties: { query: QUERY },
      required: ['query'],
      additionalProperties: false,
    }),
    replay: 'safe',
    public: true,
    run: async ({ query }, { signal }) => {
      const pages = await web.search(query, { limit: MOST_PAGES, signal })
      return { pages: pages.slice(0, MOST_PAGES).flatMap((page) => excerptsOf(page, query)) }
    },
  })
}

/** The findings of a call, and a sentence about them. */
export interface Finding {
  readonly tool: string
  readonly observation: string
  /** False if the search failed, or if there is nothing to search in. */
  readonly canRepeat: boolean
  readonly pdf: readonly PdfResult[]
  readonly web: readonly WebResult[]
}

/** A call that did not end well found nothing. */
export function findingOf(query: string, result: ToolResultPart | undefined, tool: string): Finding {
  const nothing = { tool, pdf: [], web: [], canRepeat: true }
  if (result?.status !== 'ok')
    return {
      ...nothing,
      canRepeat: false,
      observation: `${tool} failed for "${query}": ${reasonOf(result?.output)}`,
    }
  const output = Object(result.output) as {
    readonly passages?: readonly PdfResult[]
    readonly pages?: readonly WebResult[]
    readonly documents?: number
  }
  const { passages: pdf = [], pages: web = [], documents } = output
  if (tool === PDF_RETRIEVAL)
    return { ...nothing, pdf, canRepeat: documents !== 0, observation: pdfObservation(query, pdf, documents) }
  const urls = new Set(web.map(({ url }) => url)).size
  const found = urls === 0 ? 'nothing' : urls === 1 ? '1 page' : `${urls} pages`
  return { ...nothing, web, observation: `${tool} found ${found} for "${query}".` }
}

function pdfObservation(query: string, { length }: readonly PdfResult[], documents?: number): string {
  if (documents === 0) return `${PDF_RETRIEVAL} found nothing: the corpus is empty.`
  if (length === 0)
    return `${PDF_RETRIEVAL} found nothing for "${query}" in ${documents ?? 'the'} document${documents === 1 ? '' : 's'}.`
  return `${PDF_RETRIEVAL} found ${length} passage${length === 1 ? '' : 's'} for "${query}".`
}

function reasonOf(output: Json | undefined): string {
  if (output === undefined) return 'it was not run.'
  if (typeof output === 'string') return output
  const { message, error } = Object(output) as { readonly message?: unknown; readonly error?: unknown }
  const said = message ?? error
  return typeof said === 'string' ? said : JSON.stringify(output)
}
