/** One page of the web as text that can be cited. Knows no search: addresses come from a vendor, and are not trusted. */
import { runInProcess, type Timer } from '../../base/index.ts'
import {
  type GuardedFetchOptions,
  guardedFetch,
  pageText,
  parseOrigins,
  parseTarget,
  preferHttps,
} from '../../net/index.ts'
import { HoldfastError } from '../../protocol/index.ts'
import type { WebPage } from '../port.ts'
import type { Reading } from './readable-process.ts'

export interface PageReading {
  readonly guard: Pick<GuardedFetchOptions, 'allowOrigins' | 'ca' | 'resolve' | 'connect'>
  readonly maxBytes: number
  readonly maxChars: number
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly timer: Timer
}

const HTML: readonly string[] = ['text/html', 'application/xhtml+xml']
const TYPES: readonly string[] = [...HTML, 'text/plain', 'text/markdown']
const ACCEPT = 'text/html, application/xhtml+xml, text/plain;q=0.9, text/markdown;q=0.9'
const MEGABYTES = 512
/** A page of 1 MB takes 4 seconds on a busy machine. */
const HTML_MS = 10_000

/** Throws if the page cannot be read, `missing-package` among it. http becomes https, as everywhere in this package. */
export async function readPage(url: string, reading: PageReading): Promise<WebPage> {
  const { guard, maxBytes, timeoutMs, signal, timer } = reading
  const origins = parseOrigins(guard.allowOrigins ?? [])
  const target = parseTarget(preferHttps(url, origins), origins)
  const request = { types: TYPES, headers: { accept: ACCEPT }, maxBytes, timeoutMs, signal, timer }
  const response = await guardedFetch(target, { ...guard, ...request })
  if (response.status < 200 || response.status > 299)
    throw new Error(`The page has status ${response.status}.`)
  const { body, mediaType, headers } = response
  const { text } = pageText({ body, mediaType, contentType: headers['content-type'] })
  const page = HTML.includes(mediaType) ? await readHtml(text, reading) : { title: '', text: text.trim() }
  return { url: response.url, title: page.title, text: shortened(page.text, reading.maxChars) }
}

async function readHtml(html: string, reading: PageReading): Promise<Omit<WebPage, 'url'>> {
  const { signal, timer } = reading
  const found = await runInProcess<Reading>(html, {
    module: new URL('./readable-process.ts', import.meta.url),
    megabytes: MEGABYTES,
    timeoutMs: HTML_MS,
    signal,
    timer,
  })
  if (!('problem' in found)) return found
  if (found.problem !== 'no-package') throw new Error(`The page cannot be read: ${found.problem}.`)
  throw new HoldfastError('missing-package', {
    message:
      'Pages of the web need the packages @mozilla/readability and linkedom: npm install @mozilla/readability linkedom@0.18.13. Without them, pass fetchPages: false for the excerpts of the search alone.',
    details: { package: '@mozilla/readability' },
  })
}

/** Ends between two words, and never within a character. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text.toWellFormed()
  const cut = text.slice(0, most)
  const end = cut.search(/\s\S*$/)
  return cut.slice(0, end > most / 2 ? end : most - (isHalf(cut) ? 1 : 0)).toWellFormed()
}

function isHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last <= 0xdbff
}
