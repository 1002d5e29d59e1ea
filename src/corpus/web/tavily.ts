/** Web search by the API of Tavily. */
import { checkOptions, type OptionSet } from '../../protocol/index.ts'
import type { WebSearch } from '../port.ts'
import { hitsIn, valueAt } from './answer.ts'
import { apiKeyFrom, keyPlace } from './api-key.ts'
import { serviceUrl } from './service-url.ts'
import type { Refusal, Vendor } from './vendor.ts'
import { WEB_SEARCH_RULES, type WebSearchOptions, webSearch } from './web-search.ts'

export interface TavilyOptions extends WebSearchOptions {
  /** Default: the variable TAVILY_API_KEY. */
  readonly apiKey?: string
  /** Default: the vendor's address. The key is sent there. */
  readonly url?: string
}

const OPTIONS: OptionSet<TavilyOptions> = {
  place: 'tavily()',
  options: { ...WEB_SEARCH_RULES, apiKey: null, url: 'a text' },
  foreign: { key: 'apiKey', api_key: 'apiKey', baseUrl: 'url', baseURL: 'url' },
}

const VARIABLE = 'TAVILY_API_KEY'
const PAGE = 'https://app.tavily.com'
const URL_OF_API = 'https://api.tavily.com/search'

/** Throws `missing-key` without a key. */
export function tavily(options: TavilyOptions = {}): WebSearch {
  checkOptions(options, OPTIONS)
  const { apiKey, url = URL_OF_API, ...rest } = options
  const key = apiKeyFrom(apiKey, { place: OPTIONS.place, variable: VARIABLE, page: PAGE })
  const address = serviceUrl(url)
  const vendor: Vendor = {
    name: 'tavily',
    label: 'Tavily',
    keyPlace: keyPlace(apiKey, VARIABLE),
    request: (query, limit) => ({
      url: address,
      method: 'POST',
      headers: {
        accept: 'application/json',
        'content-type': 'application/json',
        authorization: `Bearer ${key}`,
      },
      body: JSON.stringify({ query, max_results: limit, search_depth: 'basic' }),
    }),
    hits: (answer) => hitsIn(valueAt(answer, 'results'), 'content'),
    refusal,
  }
  return webSearch(vendor, rest)
}

/** 432 and 433 are Tavily's own: the limit of the plan, and of payment as you go. */
function refusal(status: number): Refusal {
  if (status === 401 || status === 403) return 'key'
  if ([402, 432, 433].includes(status)) return 'quota'
  return status === 429 ? 'rate' : undefined
}
