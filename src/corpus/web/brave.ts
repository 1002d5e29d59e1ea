/** Web search by the API of Brave Search. */
import { checkOptions, type OptionSet } from '../../protocol/index.ts'
import type { WebSearch } from '../port.ts'
import { hitsIn, textAt, valueAt } from './answer.ts'
import { apiKeyFrom, keyPlace } from './api-key.ts'
import { htmlExcerpt } from './html-excerpt.ts'
import { serviceUrl } from './service-url.ts'
import type { Refusal, Vendor } from './vendor.ts'
import { WEB_SEARCH_RULES, type WebSearchOptions, webSearch } from './web-search.ts'

export interface BraveOptions extends WebSearchOptions {
  /** Default: the variable BRAVE_API_KEY. */
  readonly apiKey?: string
  /** The language of the results, such as `fr`. Default: the vendor's. */
  readonly language?: string
  /** Default: the vendor's address. The key is sent there. */
  readonly url?: string
}

const OPTIONS: OptionSet<BraveOptions> = {
  place: 'brave()',
  options: { ...WEB_SEARCH_RULES, apiKey: null, language: 'a text', url: 'a text' },
  foreign: { key: 'apiKey', api_key: 'apiKey', search_lang: 'language', baseUrl: 'url', baseURL: 'url' },
}

const VARIABLE = 'BRAVE_API_KEY'
const PAGE = 'https://api-dashboard.search.brave.com'
const URL_OF_API = 'https://api.search.brave.com/res/v1/web/search'

/** Throws `missing-key` without a key. */
export function brave(options: BraveOptions = {}): WebSearch {
  checkOptions(options, OPTIONS)
  const { apiKey, language, url = URL_OF_API, ...rest } = options
  const key = apiKeyFrom(apiKey, { place: OPTIONS.place, variable: VARIABLE, page: PAGE })
  const address = serviceUrl(url)
  const vendor: Vendor = {
    name: 'brave',
    label: 'Brave Search',
    keyPlace: keyPlace(apiKey, VARIABLE),
    request: (query, limit) => {
      const to = new URL(address)
      const asked = { q: query, count: String(limit), result_filter: 'web', text_decorations: 'false' }
      const parameters = language === undefined ? asked : { ...asked, search_lang: language }
      for (const [name, value] of Object.entries(parameters)) to.searchParams.set(name, value)
      return { url: to, headers: { accept: 'application/json', 'x-subscription-token': key } }
    },
    hits: (answer) =>
      // An answer without results has no `web` at all.
      valueAt(answer, 'type') === 'search' && valueAt(answer, 'web') === undefined
        ? []
        : hitsIn(valueAt(answer, 'web', 'results'), 'description')?.map((hit) => ({
            url: hit.url,
            title: htmlExcerpt(hit.title),
            excerpt: htmlExcerpt(hit.excerpt),
          })),
    refusal,
  }
  return webSearch(vendor, rest)
}

/** A wrong key has the status of a wrong request: the code in the answer decides. */
function refusal(status: number, answer: unknown): Refusal {
  const code = textAt(answer, 'error', 'code') || textAt(answer, 'errors', '0', 'code')
  if (status === 401 || status === 403 || code.startsWith('SUBSCRIPTION_')) return 'key'
  if (status === 402 || code === 'QUOTA_LIMITED') return 'quota'
  return status === 429 ? 'rate' : undefined
}
