/** The rules for URLs that a guarded fetch may request, and the addresses that their hosts lead to. Dials nothing. */
import { lookup } from 'node:dns/promises'
import { type BlockList, isIP } from 'node:net'
import { invalidOption, quote } from '../protocol/index.ts'
import { isIn, networkList, specialKind } from './special-addresses.ts'

/** An origin that is reached although the rules refuse it: on plain http, on another port, or at special addresses. */
export interface AllowedOrigin {
  /** Scheme, host and port, such as `http://localhost:3000`. */
  readonly origin: string
  /** The special addresses and networks that it may have, such as `127.0.0.1` or `10.0.0.0/8`. Default: none. */
  readonly addresses?: readonly string[]
}

/** Returns every address of a host. Only these are dialled, and only if each of them is permitted. */
export type ResolveHost = (host: string) => Promise<readonly string[]>

export type FetchErrorCode =
  | 'invalid-url'
  | 'refused-address'
  | 'refused-redirect'
  | 'refused-type'
  | 'too-large'
  | 'timeout'
  | 'unreachable'
  | 'bad-response'

/** A fetch that was refused or has failed. Its message is for the model: no address of a machine inside is in it. */
export class GuardedFetchError extends Error {
  override readonly name = 'GuardedFetchError'
  readonly code: FetchErrorCode

  constructor(code: FetchErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause })
    this.code = code
  }
}

export type Origins = ReadonlyMap<string, BlockList>

export function parseOrigins(allowed: readonly AllowedOrigin[]): Origins {
  return new Map(
    allowed.map(({ origin, addresses = [] }) => {
      const url = URL.canParse(origin) ? new URL(origin) : undefined
      if (url === undefined || !isWeb(url) || (url.href !== `${origin}/` && url.href !== origin))
        throw invalidOption('allowOrigins', `has ${quote(origin)}; write it as 'http://localhost:3000'`)
      if (url.pathname !== '/' || url.search !== '' || url.hash !== '' || hasCredentials(url))
        throw invalidOption('allowOrigins', `has ${quote(origin)}; leave out everything after the port`)
      return [url.origin, networksOf(addresses)]
    }),
  )
}

function networksOf(addresses: readonly string[]): BlockList {
  try {
    return networkList(addresses)
  } catch (error) {
    throw invalidOption('addresses', `of allowOrigins is wrong: ${(error as Error).message}`)
  }
}

const LONGEST_URL = 8192
const PORTS: readonly string[] = ['', '80', '443']

/** A URL that may be requested, provided that its host has permitted addresses. */
export function parseTarget(text: string, origins: Origins): URL {
  if (text.length > LONGEST_URL)
    throw refusedUrl(`The URL has ${text.length} characters. Use one of at most ${LONGEST_URL}.`)
  if (!URL.canParse(text)) throw refusedUrl('The URL is not valid. Write it as https://example.com/page.')
  const url = new URL(text)
  if (!isWeb(url)) throw refusedUrl(`URLs with ${quote(url.protocol)} are not fetched. Use https.`)
  if (hasCredentials(url))
    throw refusedUrl('The URL has a user name or a password, which is not sent. Leave it out.')
  if (!PORTS.includes(url.port) && !origins.has(url.origin))
    throw refusedUrl(`Port ${url.port} is not reached. Use a URL with the usual port, 443 or 80.`)
  return url
}

/** The same URL over https, unless its origin is allowed or it is none. */
export function preferHttps(text: string, origins: Origins): string {
  if (!URL.canParse(text)) return text
  const url = new URL(text)
  if (url.protocol !== 'http:' || origins.has(url.origin)) return text
  url.protocol = 'https:'
  return url.href
}

/** The addresses to dial. Refuses the host if one of them is special: which one is dialled would be chance. */
export async function checkedAddresses(
  url: URL,
  resolve: ResolveHost,
  origins: Origins,
): Promise<readonly string[]> {
  const host = hostOf(url)
  const addresses = isIP(host) === 0 ? await resolved(host, resolve) : [host]
  const allowed = origins.get(url.origin)
  for (const address of addresses) {
    const kind = specialKind(address)
    if (kind === undefined || (allowed && isIn(allowed, address))) continue
    throw new GuardedFetchError(
      'refused-address',
      `${quote(host)} has ${kind} address. Only addresses of the public internet are reached.`,
    )
  }
  return addresses
}

async function resolved(host: string, resolve: ResolveHost): Promise<readonly string[]> {
  let addresses: readonly string[]
  try {
    addresses = await resolve(host)
  } catch (error) {
    throw unknownHost(host, error)
  }
  if (addresses.length === 0) throw unknownHost(host)
  return addresses
}

export const systemResolve: ResolveHost = async (host) => {
  const found = await lookup(host, { all: true })
  return found.map(({ address }) => address)
}

/** The host as the resolver takes it: a literal address of version 6 without its brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1')
}

function isWeb({ protocol }: URL): boolean {
  return protocol === 'https:' || protocol === 'http:'
}

function hasCredentials({ username, password }: URL): boolean {
  return username !== '' || password !== ''
}

function refusedUrl(message: string): GuardedFetchError {
  return new GuardedFetchError('invalid-url', message)
}

function unknownHost(host: string, cause?: unknown): GuardedFetchError {
  return new GuardedFetchError(
    'unreachable',
    `No address of ${quote(host)} was found. Check its name.`,
    cause,
  )
}
