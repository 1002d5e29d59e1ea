/** The typed client. Writes carry a key and are repeated until the server has answered, so each has one effect. */
import {
  checkOptions,
  type Entry,
  invalidOption,
  type Json,
  type JsonObject,
  type Message,
  type OptionSet,
  type RequestData,
  shown,
  type TraceEntry,
  type Usage,
} from '../protocol/index.ts'
import { ClientError, errorOf, givenUp } from './client-error.ts'
import { asClientError, type ClientEvent, type FollowOptions, follow, wait, waitAfter } from './follow.ts'

export interface ClientOptions {
  /** The address of the server, such as `http://localhost:4700`. */
  readonly url: string
  /** A token or key, or a function that gives one for each request. */
  readonly token?: string | (() => string | Promise<string>)
  /** Without a token: the key of a visitor, 32 or more random characters. Default: a new one. */
  readonly visitorKey?: string
  /** How long a request is repeated while the server is away or busy, from its first failure. Default: 30 seconds. */
  readonly retryForMs?: number
  /** For tests, or for an environment with its own. */
  readonly fetch?: typeof fetch
}

export interface SendMessage {
  readonly message?: string | readonly JsonObject[]
  /** For a graph, instead of a message. */
  readonly values?: JsonObject
  /** Goes on with a turn that was cut short, instead of a message. */
  readonly continue?: true
  readonly whileBusy?: 'queue' | 'steer' | 'interrupt' | 'reject'
  readonly metadata?: JsonObject
  /** Secrets for the tools of this turn; never stored. */
  readonly credentials?: JsonObject
  /** Sent again under this key, it runs once. Default: a new one. */
  readonly key?: string
}

export interface ConversationSummary {
  readonly contextId: string
  readonly name: string
  readonly kind: 'agent' | 'graph'
  readonly status: string
  readonly turn: number
  readonly seq: number
  readonly outcome?: string
  readonly createdAt: string
  readonly activeAt: string
  readonly metadata: JsonObject
  readonly usage: Usage
}

export interface TurnResult {
  readonly contextId: string
  readonly status: 'completed' | 'input-required' | 'auth-required' | 'failed' | 'cancelled'
  readonly reason: string
  readonly turn: number
  readonly text?: string
  readonly output?: Json
  readonly state?: Json
  readonly error?: JsonObject
  readonly requests: readonly RequestData[]
}

/** A passage of a document, with the text of its page next to it. */
export interface SourcePassage {
  readonly id: string
  readonly document_id: string
  readonly title: string
  readonly source: string
  /** Null: the document has no pages. */
  readonly page: number | null
  readonly before: string
  readonly text: string
  readonly after: string
}

interface ConversationRequests {
  readonly key: { readonly contextId: string }
  readonly requests: readonly RequestData[]
}

export interface HoldfastClient {
  /** The names of agents: they take a message. */
  agents(): Promise<readonly string[]>
  /** The names of graphs: they take `values` instead of a message. */
  graphs(): Promise<readonly string[]>
  /** A new conversation; it exists with its first message. */
  create(agent: string): Promise<ConversationClient>
  /** A conversation by its id. */
  conversation(contextId: string): ConversationClient
  list(query?: {
    readonly agent?: string
    readonly status?: string
    readonly q?: string
    readonly limit?: number
    readonly cursor?: string
  }): Promise<{ readonly conversations: readonly ConversationSummary[]; readonly next?: string }>
  /** Requests that wait for you, in all conversations. Reads every page of `GET /requests`. */
  requests(): Promise<readonly ConversationRequests[]>
  /** The passage of a source, by its id, from a server with research. */
  passage(id: string): Promise<SourcePassage>
}

export interface ConversationClient {
  readonly contextId: string
  get(): Promise<ConversationSummary & { readonly requests: readonly RequestData[] }>
  /** Resolves when the message is stored; `since` is where its turn begins in `events`. */
  send(message: string | SendMessage): Promise<{ readonly since: number }>
  /** Resolves with the outcome of the turn. */
  ask(message: string | SendMessage): Promise<TurnResult>
  /** Answers open requests by their ids. Sent again under its key, it answers once. Default: a new key. */
  answer(answers: Readonly<Record<string, Json>>, options?: { readonly key?: string }): Promise<TurnResult>
  /** Cancels the turn that runs now. Repeated after a lost answer, it cancels no later one. */
  cancel(reason?: string): Promise<void>
  fork(at?: number): Promise<ConversationClient>
  /** A conversation that is gone when the request is repeated was erased by it. */
  erase(): Promise<void>
  /**
   * Begins the conversation anew after it was erased, empty; keys count from now on. 409 if it is not erased. One that is there
   * when the request is repeated was made by it.
   */
  recreate(): Promise<void>
  /** The newest messages, oldest first: `limit` of them, at most 1,000. Default: 50. */
  messages(limit?: number): Promise<readonly Message[]>
  /** Entries of the journal by position or turn, oldest first: the first `limit` of them, at most 1,000 and by default. */
  entries(range?: {
    readonly from?: number
    readonly to?: number
    readonly turn?: number
    readonly limit?: number
  }): Promise<readonly Entry[]>
  trace(turn?: number): Promise<readonly TraceEntry[]>
  state(): Promise<Json>
  /**
   * Every entry once, in order, and deltas between; it reconnects by itself until the signal aborts. Throws if the conversation
   * is erased (`erased`), or if the server refuses `since`.
   */
  events(options?: FollowOptions): AsyncGenerator<ClientEvent>
}

const CLIENT: OptionSet<ClientOptions> = {
  place: 'createClient()',
  options: {
    url: null,
    token: null,
    visitorKey: 'a text',
    retryForMs: { leastMs: 0 },
    fetch: 'a function',
  },
  foreign: { baseURL: 'url', baseUrl: 'url', apiKey: 'token' },
}

export function createClient(options: ClientOptions): HoldfastClient {
  checkOptions(options, CLIENT)
  const { url, token }: { readonly url?: unknown; readonly token?: unknown } = options
  if (typeof url !== 'string')
    throw invalidOption('createClient()', `needs \`url\`, the address of the server, not ${shown(url)}`)
  if (token !== undefined && typeof token !== 'string' && typeof token !== 'function')
    throw invalidOption('token', `must be a text or a function that gives one, not ${shown(token)}`)
  if (options.fetch === undefined && !isWebAddress(url))
    throw invalidOption('url', `must begin with http:// or https://, not ${shown(url)}`)
  const requests = new Requests(options)
  const conversation = (contextId: string): ConversationClient => conversationOf(requests, contextId)
  return {
    agents: async () => (await requests.get<{ agents: string[] }>('/agents')).agents,
    graphs: async () => (await requests.get<{ graphs: string[] }>('/agents')).graphs,
    create: async (agent) =>
      conversation((await requests.post<{ contextId: string }>('/conversations', { agent })).contextId),
    conversation,
    list: (query = {}) => requests.get(`/conversations${queryText(query)}`),
    requests: () => openRequests(requests),
    passage: (id) => requests.get(`/passages/${encodeURIComponent(id)}`),
  }
}

/** False for an address that could never be reached, such as `localhost:4700`. In a browser it may be relative to the page. */
function isWebAddress(url: string): boolean {
  const page = (globalThis as { readonly location?: { readonly href: string } }).location?.href
  return URL.canParse(url, page) && /^https?:$/.test(new URL(url, page).protocol)
}

async function openRequests(requests: Requests): Promise<readonly ConversationRequests[]> {
  const all: ConversationRequests[] = []
  let cursor: string | undefined
  do {
    const path = `/requests${queryText({ cursor })}`
    const page = await requests.get<{ notices: readonly ConversationRequests[]; next?: string }>(path)
    all.push(...page.notices)
    cursor = page.next
  } while (cursor !== undefined)
  return all
}

function conversationOf(requests: Requests, contextId: string): ConversationClient {
  const path = `/conversations/${encodeURIComponent(contextId)}`
  const body = (message: string | SendMessage) => {
    const { key = randomKey(), ...rest } =
      typeof message === 'string' ? ({ message } as SendMessage) : message
    return [rest, key] as const
  }
  return {
    contextId,
    get: () => requests.get(path),
    send: (message) => requests.post(`${path}/messages`, ...body(message)),
    ask: (message) => requests.post(`${path}/messages?wait=true`, ...body(message)),
    answer: (answers, { key = randomKey() } = {}) =>
      requests.post(`${path}/answers?wait=true`, { answers }, key),
    cancel: async (reason) => {
      const { turn, status } = await requests.get<ConversationSummary>(path)
      // A message that was just sent may not have begun its turn.
      const last = status === 'idle' ? turn + 1 : turn
      await requests.post(`${path}/cancel`, { turn: last, ...(reason === undefined ? {} : { reason }) })
    },
    fork: async (at) => {
      const made = await requests.post<{ contextId: string }>(`${path}/fork`, at === undefined ? {} : { at })
      return conversationOf(requests, made.contextId)
    },
    erase: () => requests.change('DELETE', path, 404),
    recreate: () => requests.change('POST', `${path}/recreate`, 409),
    messages: async (limit) =>
      (await requests.get<{ messages: Message[] }>(`${path}/messages${queryText({ limit })}`)).messages,
    entries: async (range = {}) =>
      (await requests.get<{ entries: Entry[] }>(`${path}/entries${queryText(range)}`)).entries,
    trace: async (turn) =>
      (await requests.get<{ trace: TraceEntry[] }>(`${path}/trace${queryText({ turn })}`)).trace,
    state: async () => (await requests.get<{ state: Json }>(`${path}/state`)).state,
    events: (options = {}) =>
      follow((since, signal) => requests.open(`${path}/events?since=${since}`, signal), options),
  }
}

function queryText(query: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  )
  return given.length === 0 ? '' : `?${new URLSearchParams(given as [string, string][]).toString()}`
}

/** Browsers have no `crypto.randomUUID` on a page that came over plain HTTP from another machine. */
function randomKey(words = 4): string {
  const parts = crypto.getRandomValues(new Uint32Array(words))
  return Array.from(parts, (part) => part.toString(36).padStart(7, '0')).join('-')
}

class Requests {
  readonly #url: string
  readonly #options: ClientOptions
  readonly #fetch: typeof fetch
  readonly #visitorKey: string

  constructor(options: ClientOptions) {
    this.#options = options
    this.#visitorKey = options.visitorKey ?? randomKey(6)
    this.#url = options.url.replace(/\/+$/, '')
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init))
  }

  get<T>(path: string): Promise<T> {
    return this.#repeated(() => this.#json<T>(path, {}))
  }

  /** Under one key, however often it is sent. `key`: one that the caller can send again. */
  post<T>(path: string, body: unknown, key?: string): Promise<T> {
    const init = {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', 'idempotency-key': key ?? randomKey() },
    }
    return this.#repeated(() => this.#json<T>(path, init), key)
  }

  /** A write that the server refuses with `done` if it was done before, such as by a try whose answer was lost. */
  async change(method: 'DELETE' | 'POST', path: string, done: number): Promise<void> {
    let isLost = false
    await this.#repeated(async () => {
      try {
        await (await this.#once(path, { method })).text()
      } catch (thrown) {
        const { status } = asClientError(thrown)
        if (isLost && status === done) return
        isLost ||= status === 0 || status >= 500
        throw thrown
      }
    })
  }

  open(path: string, signal: AbortSignal): Promise<Response> {
    return this.#once(path, { signal, headers: { accept: 'text/event-stream' } })
  }

  async #repeated<T>(attempt: () => Promise<T>, key?: string): Promise<T> {
    const { retryForMs = 30_000 } = this.#options
    let since: number | undefined
    for (let tries = 1; ; tries++) {
      try {
        return await attempt()
      } catch (thrown) {
        const error = asClientError(thrown)
        if (!error.isTransient) throw error
        const now = Date.now()
        since ??= now
        const left = since + retryForMs - now
        if (left <= 0) throw givenUp(error, { tries, ms: now - since, key })
        await wait(Math.min(left, error.retryAfterMs ?? waitAfter(tries)))
      }
    }
  }

  async #json<T>(path: string, init: RequestInit): Promise<T> {
    const response = await this.#once(path, init)
    try {
      return (await response.json()) as T
    } catch (error) {
      throw new ClientError(`The answer of ${this.#url} broke off: ${(error as Error).message}`)
    }
  }

  async #once(path: string, init: RequestInit): Promise<Response> {
    const { token } = this.#options
    const bearer = typeof token === 'function' ? await token() : token
    const headers = {
      ...(init.headers as Record<string, string> | undefined),
      ...(bearer === undefined
        ? { 'x-visitor-key': this.#visitorKey }
        : { authorization: `Bearer ${bearer}` }),
    }
    let response: Response
    try {
      response = await this.#fetch(`${this.#url}${path}`, { ...init, headers })
    } catch (error) {
      throw new ClientError(`${this.#url} was not reached: ${reasonOf(error as Error)}`)
    }
    if (!response.ok) throw await errorOf(response)
    return response
  }
}

/** With the cause, which alone says more than `fetch failed`; that of several addresses has a code and no message. */
function reasonOf({ message, cause }: Error): string {
  if (!(cause instanceof Error)) return message
  const why = cause.message || (cause as { readonly code?: string }).code
  return why === undefined ? message : `${message}: ${why}`
}
