/** The caller of the server: a token of this tab, or the key of a visitor; and the names that the server has for them. */
import { ClientError, createClient, type HoldfastClient } from 'holdfast/client'
import { useCallback, useEffect, useMemo, useState } from 'react'
import { ofTab } from './kept-values.ts'
import type { Names } from './types.ts'

const TOKEN = 'holdfast-token'
const VISITOR = 'holdfast-visitor'
/** The header that the server sends to visitors, and to nobody else. */
const VISITOR_HEADER = 'x-visitor-key'
const AGAIN_MS = 3000
/** The route of the names. */
const NAMES = '/agents'

export interface Session {
  readonly client: HoldfastClient
  readonly hasToken: boolean
  /** True if the server admits callers without a token. */
  readonly admitsVisitors: boolean
  /** Undefined until the server has answered. */
  readonly names: Names | undefined
  readonly refusal: ClientError | undefined
  /** Without a token: signs out. */
  readonly signIn: (token?: string) => void
  /** Asks the server again. */
  readonly retry: () => void
}

export function useSession(): Session {
  const [token, setToken] = useState(() => ofTab.get(TOKEN) ?? '')
  const [admitsVisitors, setAdmitsVisitors] = useState(false)
  const [times, setTimes] = useState(0)
  const retry = useCallback(() => setTimes((before) => before + 1), [])
  const client = useMemo(
    () =>
      createClient({
        url: new URL('.', location.href).href,
        retryForMs: 5000,
        ...(token === '' ? { visitorKey: visitorKey() } : { token }),
        fetch: async (input, init) => {
          const response = await fetch(input, init)
          if (token === '') setAdmitsVisitors(response.headers.has(VISITOR_HEADER))
          // A token that expires meanwhile: the names are refused as well, and the page asks for another.
          if (response.status === 401 && !response.url.endsWith(NAMES)) retry()
          return response
        },
      }),
    [token, retry],
  )
  const { names, refusal } = useNames(client, times, retry)
  const isRefused = refusal?.status === 401
  useEffect(() => {
    if (isRefused) ofTab.remove(TOKEN)
  }, [isRefused])
  const signIn = (given = ''): void => {
    if (given === '') ofTab.remove(TOKEN)
    else ofTab.set(TOKEN, given)
    setToken(given)
    retry()
  }
  return { client, hasToken: token !== '', admitsVisitors, names, refusal, signIn, retry }
}

/** The key of a visitor, for as long as the tab is open. */
function visitorKey(): string {
  const known = ofTab.get(VISITOR)
  if (known !== undefined) return known
  const bytes = Array.from(crypto.getRandomValues(new Uint8Array(24)))
  const made = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
  ofTab.set(VISITOR, made)
  return made
}

interface Asked {
  readonly client: HoldfastClient
  readonly names?: Names
  readonly refusal?: ClientError
}

function useNames(client: HoldfastClient, times: number, retry: () => void): Omit<Partial<Asked>, 'client'> {
  const [asked, setAsked] = useState<Asked>()
  useEffect(() => {
    let isOver = false
    let timer: ReturnType<typeof setTimeout> | undefined
    readNames(client)
      .then((names) => isOver || setAsked({ client, names }))
      .catch((thrown: unknown) => {
        if (isOver) return
        const refusal = thrown instanceof ClientError ? thrown : new ClientError(String(thrown))
        setAsked((before) => ({ ...(before?.client === client ? before : { client }), refusal }))
        if (refusal.isTransient) timer = setTimeout(retry, AGAIN_MS)
      })
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [client, times, retry])
  // The answer to another caller is none.
  return asked?.client === client ? asked : {}
}

/** One after the other: a refusal is one request. */
async function readNames(client: HoldfastClient): Promise<Names> {
  const agents = await client.agents()
  const graphs = await client.graphs()
  return { all: [...agents, ...graphs], graphs }
}
