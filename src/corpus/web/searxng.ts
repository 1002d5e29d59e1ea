/** Web search by an instance of SearXNG. */
import { checkOptions, HoldfastError, type OptionSet, quote } from '../../protocol/index.ts'
import type { WebSearch } from '../port.ts'
import { hitsIn, textAt, valueAt } from './answer.ts'
import { serviceUrl } from './service-url.ts'
import { failed, type Refusal, type Vendor } from './vendor.ts'
import { WEB_SEARCH_RULES, type WebSearchOptions, webSearch } from './web-search.ts'

export interface SearxngOptions extends WebSearchOptions {
  /**
   * The address of the instance, such as `http://localhost:8080`; it may be inside your network. A user name and a password
   * in it are sent by basic authentication. Default: the variable SEARXNG_URL.
   */
  readonly url?: string
  /** The language of the results, such as `fr`. Default: the instance's. */
  readonly language?: string
}

const OPTIONS: OptionSet<SearxngOptions> = {
  place: 'searxng()',
  // A wrong url may have a password in it, which no message may show.
  options: { ...WEB_SEARCH_RULES, url: null, language: 'a text' },
  foreign: { baseUrl: 'url', baseURL: 'url', apiBase: 'url' },
}

/** Throws `missing-key` without an address. */
export function searxng(options: SearxngOptions = {}): WebSearch {
  checkOptions(options, OPTIONS)
  const { url = process.env['SEARXNG_URL']?.trim(), language, ...rest } = options
  if (url === undefined || url === '')
    throw new HoldfastError('missing-key', {
      message:
        'searxng() needs the address of an instance: set SEARXNG_URL in the environment, or pass url, such as http://localhost:8080.',
      details: { variable: 'SEARXNG_URL' },
    })
  const address = serviceUrl(url)
  const { username, password } = address
  address.username = ''
  address.password = ''
  address.pathname = address.pathname.replace(/\/*(?:search\/*)?$/, '/search')
  const vendor: Vendor = {
    name: 'searxng',
    label: 'SearXNG',
    request: (query) => {
      const to = new URL(address)
      const parameters = { q: query, format: 'json', ...(language === undefined ? {} : { language }) }
      for (const [name, value] of Object.entries(parameters)) to.searchParams.set(name, value)
      const headers = username === '' ? {} : { authorization: basic(username, password) }
      return { url: to, headers: { accept: 'application/json', ...headers } }
    },
    hits: (answer) => {
      const hits = hitsIn(valueAt(answer, 'results'), 'content')
      const silent = enginesWithoutAnswer(answer)
      if (hits?.length === 0 && silent !== '')
        throw failed(vendor, `Its engines have not answered: ${silent}. Try again later.`, { retry: 'later' })
      return hits
    },
    refusal,
  }
  return webSearch(vendor, rest)
}

function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')}`
}

/** A `%` that begins no escape, or one of no character, stands for itself. */
function decoded(text: string): string {
  return text.replaceAll(/(?:%[\da-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes)
    } catch {
      return escapes
    }
  })
}

const MOST_ENGINES = 5

/** An instance whose engines are all blocked answers with status 200 and no results. */
function enginesWithoutAnswer(answer: unknown): string {
  const engines = valueAt(answer, 'unresponsive_engines')
  if (!Array.isArray(engines)) return ''
  return engines
    .slice(0, MOST_ENGINES)
    .map((engine: unknown) => `${quote(textAt(engine, '0'))} (${quote(textAt(engine, '1'))})`)
    .join(', ')
}

function refusal(status: number): Refusal {
  if (status === 401)
    return {
      advice: 'It asks for a user name and a password. Write them into url: https://user:password@host.',
    }
  if (status === 403)
    return {
      advice:
        'It does not answer in JSON. Add json to search.formats in its settings.yml, or use an instance that has it.',
    }
  return status === 429 ? 'rate' : undefined
}
