/**
 * A web search: asks a vendor, and reads the pages of its results, several at once, within one limit of time. A page that
 * cannot be read is replaced by the vendor's excerpt.
 */
import { systemTimer, type Timer } from '../../base/index.ts'
import { type GuardedFetchOptions, parseOrigins } from '../../net/index.ts'
import {
  checkOptions,
  HoldfastError,
  invalidOption,
  type OptionRules,
  type OptionSet,
  shown,
} from '../../protocol/index.ts'
import type { WebPage, WebQuery, WebSearch } from '../port.ts'
import { Slots } from '../slots.ts'
import { type PageReading, readPage, shortened } from './read-page.ts'
import { askVendor, failed, type Hit, type Vendor } from './vendor.ts'

export interface WebSearchOptions
  extends Pick<GuardedFetchOptions, 'allowOrigins' | 'ca' | 'resolve' | 'connect'> {
  /** `false`: the vendor's excerpts alone, without the packages for HTML. Default: true. */
  readonly fetchPages?: boolean
  /** The largest page, before and after decompression. Default: 2 MB. */
  readonly maxBytes?: number
  /** The most characters of a page's text. Default: 20,000. */
  readonly maxChars?: number
  /** The limit for a search and its pages together. Pages that are late are replaced by their excerpts. Default: 20 s. */
  readonly timeoutMs?: number
  /** Pages read at the same time, by all searches together. Default: 3. */
  readonly concurrency?: number
  /** For tests. */
  readonly timer?: Timer
}

export const WEB_SEARCH_RULES: OptionRules<WebSearchOptions> = {
  fetchPages: 'true or false',
  maxBytes: { least: 1 },
  maxChars: { least: 1 },
  timeoutMs: { leastMs: 1 },
  concurrency: { least: 1 },
  allowOrigins: 'a list',
  ca: 'a text',
  resolve: 'a function',
  connect: 'a function',
  timer: 'a timer with wait() and after()',
}

const QUERY: OptionSet<WebQuery> = {
  place: 'search()',
  options: { limit: { least: 1 }, signal: 'an AbortSignal' },
  foreign: { topK: 'limit', count: 'limit', maxResults: 'limit' },
}

const LIMIT = 5
const MOST_PAGES = 20
const LONGEST_QUERY = 400
const MOST_WORDS = 50
const DEFAULTS = { maxBytes: 2_000_000, maxChars: 20_000, timeoutMs: 20_000 }

/** The options were checked by the vendor's factory. */
export function webSearch(vendor: Vendor, options: WebSearchOptions): WebSearch {
  parseOrigins(options.allowOrigins ?? [])
  const { fetchPages = true, concurrency = 3, timer = systemTimer, allowOrigins, ...rest } = options
  const { maxBytes, maxChars, timeoutMs, ...guard } = { ...DEFAULTS, ...rest }
  const slots = new Slots(concurrency)
  const search = async (query: string, signal: AbortSignal, limit: number): Promise<readonly WebPage[]> => {
    const hits = await askVendor(vendor, { query, limit, guard, timeoutMs, signal, timer })
    const origins = allowOrigins === undefined ? {} : { allowOrigins }
    const reading = { guard: { ...guard, ...origins }, maxBytes, maxChars, timeoutMs, signal, timer }
    const read = fetchPages ? (hit: Hit) => slots.run(() => readPage(hit.url, reading), signal) : undefined
    const pages = usable(hits, limit).map((hit) => pageOf(hit, reading, read))
    return (await Promise.all(pages)).filter(({ text }) => text !== '')
  }
  return {
    name: vendor.name,
    search: async (text, query = {}) => {
      checkOptions(query, QUERY)
      const limit = checkedLimit(query.limit)
      const late = failed(vendor, `It has not answered after ${timeoutMs} ms.`, { retry: 'later' })
      const deadline = new AbortController()
      const stop = timer.after(timeoutMs, () => deadline.abort(late))
      const signals = query.signal === undefined ? [] : [query.signal]
      try {
        const pages = await search(checkedQuery(text), AbortSignal.any([deadline.signal, ...signals]), limit)
        query.signal?.throwIfAborted()
        return pages
      } catch (error) {
        query.signal?.throwIfAborted()
        throw deadline.signal.aborted ? late : error
      } finally {
        stop()
      }
    },
  }
}

type ReadHit = (hit: Hit) => Promise<WebPage>

/** The page, or the excerpt if it cannot be read, or says less: a page that needs scripts has a line of text. */
async function pageOf(hit: Hit, reading: PageReading, read: ReadHit | undefined): Promise<WebPage> {
  const { url, title } = hit
  const excerpt = { url, title, text: shortened(hit.excerpt, reading.maxChars) }
  if (read === undefined) return excerpt
  try {
    const page = await read(hit)
    return page.text.length < excerpt.text.length ? excerpt : { ...page, title: page.title || title }
  } catch (error) {
    if (HoldfastError.is(error, 'missing-package')) throw error
    return excerpt
  }
}

/** Each page once, and only addresses that a reader may open: a result can be `javascript:…`. */
function usable(hits: readonly Hit[], limit: number): readonly Hit[] {
  const byPage = new Map<string, Hit>()
  for (const { url: text, title, excerpt } of hits) {
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (url === undefined || !['http:', 'https:'].includes(url.protocol)) continue
    if (url.username !== '' || url.password !== '') continue
    const page = url.href.replace(/#.*$/, '')
    if (!byPage.has(page)) byPage.set(page, { url: url.href, title: oneLine(title), excerpt: excerpt.trim() })
  }
  return [...byPage.values()].slice(0, limit)
}

function checkedLimit(limit = LIMIT): number {
  if (Number.isInteger(limit) && limit <= MOST_PAGES) return limit
  throw invalidOption('limit', `must be a whole number from 1 to ${MOST_PAGES}, not ${shown(limit)}`)
}

/** The vendors take 400 characters and 50 words; what is longer is cut. */
function checkedQuery(text: unknown): string {
  const words = typeof text === 'string' ? text.split(/\s+/).filter((word) => word !== '') : []
  if (words.length === 0) throw invalidOption('query', `must be a text with words, not ${shown(text)}`)
  return shortened(words.slice(0, MOST_WORDS).join(' '), LONGEST_QUERY)
}

function oneLine(text: string): string {
  return shortened(text.replaceAll(/\s+/g, ' ').trim(), LONGEST_QUERY)
}
