/**
 * The connection to a remote agent. Requests go to the origin of the configured address only, whatever its card says, and follow no
 * redirect: credentials travel with them.
 */
import type { Client } from '@a2a-js/sdk/client'
import { HoldfastError, quote } from '../protocol/index.ts'
import { type RemoteSdk, remoteSdk } from './sdk.ts'

export interface ConnectOptions {
  /** The address of the agent: where its card is, or the folder below which `.well-known/agent-card.json` is. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly fetch?: typeof fetch
}

export interface Connected {
  readonly sdk: RemoteSdk
  readonly client: Client
  /** The HTTP status of the newest answer. */
  readonly lastStatus: () => number | undefined
}

export async function connect({ url, headers, fetch: given = fetch }: ConnectOptions): Promise<Connected> {
  const sdk = await remoteSdk()
  const { origin } = new URL(url)
  let lastStatus: number | undefined
  const fetchImpl: typeof fetch = async (input, init) => {
    const target = new URL(input instanceof Request ? input.url : input)
    if (target.origin !== origin)
      throw new HoldfastError('forbidden', {
        message: `The card of ${quote(url)} names another origin, ${target.origin}. Give the address of the agent itself.`,
      })
    const all = new Headers(init?.headers)
    for (const [name, value] of Object.entries(headers)) all.set(name, value)
    lastStatus = undefined
    const response = await given(target, { ...init, headers: all, redirect: 'error' })
    lastStatus = response.status
    return response
  }
  const legacyCompat = { enabled: true }
  const factory = new sdk.ClientFactory({
    transports: [
      new sdk.JsonRpcTransportFactory({ fetchImpl, legacyCompat }),
      new sdk.RestTransportFactory({ fetchImpl, legacyCompat }),
    ],
    cardResolver: new sdk.DefaultAgentCardResolver({
      fetchImpl: async (input, init) => whole(await fetchImpl(input, init)),
      legacyCompat,
    }),
  })
  const client = await factory.createFromUrl(cardUrl(url), '')
  return { sdk, client, lastStatus: () => lastStatus }
}

const MOST_CARD_BYTES = 1_000_000

/** The card with its whole body, or an error as soon as it is too long. */
async function whole(response: Response): Promise<Response> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    parts.push(part)
    length += part.length
    if (length > MOST_CARD_BYTES)
      throw new HoldfastError('too-large', {
        message: `The card of the remote agent has more than ${MOST_CARD_BYTES} bytes.`,
      })
  }
  const { status, statusText, headers } = response
  return new Response(parts.length === 0 ? null : Buffer.concat(parts), { status, statusText, headers })
}

/** A path without a slash at its end is a folder, too: cards are below their agents. */
function cardUrl(url: string): string {
  const { pathname, origin, search } = new URL(url)
  if (pathname.endsWith('.json')) return url
  return `${origin}${pathname.replace(/\/*$/, '/')}.well-known/agent-card.json${search}`
}

/** The address, if it is one that can be called. The error has no password. */
export function checkUrl(url: string): string {
  const parsed = URL.parse(url)
  const { protocol = '', username = '', password = '', host = '' } = parsed ?? {}
  if (/^https?:$/.test(protocol) && username === '' && password === '') return url
  throw new HoldfastError('invalid-option', {
    message: `${quote(password === '' ? url : host)} is no address of a remote agent. Write it as https://agents.example/support, without a password.`,
  })
}
