/** Reads of conversations for protocols: heads, entries, messages, traces, states and artifacts. Opens and changes nothing. */
import { Agent, type MessageQuery, viewsOf } from '../agent/index.ts'
import type { Clock } from '../base/index.ts'
import { openRequests } from '../drive/index.ts'
import { loadSession, readTrace } from '../journal/index.ts'
import {
  type ArtifactInfo,
  type ContextKey,
  defined,
  type Entry,
  HoldfastError,
  type JsonObject,
  type Message,
  type Owner,
  personsTexts,
  quote,
  type RequestData,
  type TraceEntry,
  type Usage,
} from '../protocol/index.ts'
import { type Head, type HeadStatus, type ReadRange, type Store, turnKey } from '../store/index.ts'
import type { ArtifactContent } from '../tool/index.ts'
import type { Named } from './catalog.ts'
import { replyOf } from './hosted.ts'

export interface RequestNotice {
  readonly key: ContextKey
  readonly requests: readonly RequestData[]
}

export interface ConversationInfo {
  readonly contextId: string
  /** The name of its agent or graph. */
  readonly name: string
  readonly kind: 'agent' | 'graph'
  readonly status: HeadStatus
  readonly turn: number
  /** The position of the newest entry. */
  readonly seq: number
  readonly outcome?: string
  readonly createdAt: string
  readonly activeAt: string
  readonly metadata: JsonObject
  readonly usage: Usage
}

export interface ListConversations {
  readonly name?: string
  readonly status?: HeadStatus
  /** A text in the id or in the newest messages, any case; the 200 newest conversations are searched. */
  readonly query?: string
  readonly limit?: number
  readonly cursor?: string
}

export interface ConversationPage {
  readonly conversations: readonly ConversationInfo[]
  readonly next?: string
}

const MOST_SEARCHED = 200
const SEARCHED_MESSAGES = 50
const SEARCHED_ENTRIES = 200
const TURNS_AT_ONCE = 20

export class HostReads {
  readonly #store: Store
  readonly #find: (contextId: string) => Named | undefined
  readonly #clock: Clock

  /** `find`: the agent or graph of a conversation; undefined if the host has none. */
  constructor(store: Store, find: (contextId: string) => Named | undefined, clock: Clock) {
    this.#store = store
    this.#find = find
    this.#clock = clock
  }

  /** Conversations of an owner, most recently active first. */
  async list(
    owner: Owner,
    { name, status, query, limit = 50, cursor }: ListConversations,
  ): Promise<ConversationPage> {
    const search = query?.trim().toLowerCase()
    const page = await this.#store.list({
      owner,
      limit: search ? MOST_SEARCHED : limit,
      ...defined({ status, cursor }),
      // Ids of the default agent may have no name.
      ...(name === undefined || name === this.#find('_')?.name ? {} : { prefix: `${name}:` }),
    })
    const heads = page.heads.filter(({ key }) => {
      const found = this.#find(key.contextId)
      return found !== undefined && (name === undefined || found.name === name)
    })
    const matching = search ? await this.#matching(heads, search) : heads
    return {
      conversations: await Promise.all(matching.slice(0, limit).map((head) => this.#info(head))),
      ...(page.next === undefined || search ? {} : { next: page.next }),
    }
  }

  /** Undefined if it does not exist, or was erased. */
  async info(key: ContextKey): Promise<ConversationInfo | undefined> {
    const head = await this.#store.head(key)
    return head === undefined || head.status === 'erased' ? undefined : this.#info(head)
  }

  async entries(key: ContextKey, range: ReadRange): Promise<readonly Entry[]> {
    return this.#store.read(key, range)
  }

  /** The positions before `before` of messages that wait for a turn, then of those that began one; newest first. */
  async *firstMessages(
    key: ContextKey,
    before: number = Number.MAX_SAFE_INTEGER,
  ): AsyncGenerator<number, void, undefined> {
    const waiting = (await this.#store.inbox(key)).filter(({ type, seq }) => type === 'input' && seq < before)
    yield* waiting.map(({ seq }) => seq).toReversed()
    for (let turn = (await this.#store.head(key))?.turn ?? 0; turn > 0; turn -= TURNS_AT_ONCE) {
      const turns = Array.from({ length: Math.min(TURNS_AT_ONCE, turn) }, (_, back) => turnKey(turn - back))
      const rows = await Promise.all(turns.map((row) => this.#store.lookup(key, { index: 'turn', key: row })))
      for (const { seq, value } of rows.flat()) {
        const first = value['first'] as number
        // A turn that takes no message continues the one before.
        if (first < seq && first < before) yield first
      }
    }
  }

  async messages(key: ContextKey, query: MessageQuery = {}): Promise<readonly Message[]> {
    return this.#views(key).messageStore.getRecent(key.contextId, query)
  }

  async trace(key: ContextKey, turn?: number): Promise<readonly TraceEntry[]> {
    return readTrace(this.#store, key, defined({ turn }))
  }

  /** The state of a graph, or the active values of an agent's conversation. */
  async state(key: ContextKey): Promise<unknown> {
    const graph = await this.#find(key.contextId)?.graph?.()
    if (graph !== undefined) return (await graph.getState({ contextId: key.contextId, owner: key })) ?? null
    const { active = [], metadata = {} } = await loadSession(this.#store, key)
    return { active, metadata }
  }

  /**
   * The newest reply: an agent's last message, or the text of a flow's state, now or after entry `at`. Undefined if there is
   * none.
   */
  async reply(key: ContextKey, at?: number): Promise<string | undefined> {
    const { graph, flow } = this.#find(key.contextId) ?? {}
    if (graph === undefined) {
      const messages = await this.messages(key, { maxMessages: 20 })
      const last = messages.findLast(({ role }) => role === 'assistant')
      return last === undefined ? undefined : textOf(last.content)
    }
    const where = { contextId: key.contextId, owner: key, ...defined({ at }) }
    const snapshot = await (await graph()).getState(where)
    return flow && snapshot && replyOf(flow, snapshot.state)
  }

  /** The graph of a conversation as Mermaid, with its newest run. */
  async mermaid(key: ContextKey): Promise<string> {
    const graph = await this.#find(key.contextId)?.graph?.()
    if (graph === undefined)
      throw new HoldfastError('wrong-kind', {
        message: `${quote(key.contextId)} is a conversation with an agent: it has no graph.`,
        details: { contextId: key.contextId },
      })
    const where = { contextId: key.contextId, owner: key }
    return graph.toMermaid({ trace: await graph.trace(where) })
  }

  /** The stored requests that wait for an answer, oldest first. */
  async requests(key: ContextKey): Promise<readonly RequestData[]> {
    const session = await loadSession(this.#store, key)
    return openRequests({ store: this.#store, key, session }, this.#clock.now())
  }

  /** The requests of all conversations of an owner, a page at a time. */
  async openRequests(
    owner: Owner,
    page: { readonly limit?: number; readonly cursor?: string },
  ): Promise<{ readonly notices: readonly RequestNotice[]; readonly next?: string }> {
    const { heads, next } = await this.#store.list({ owner, status: 'waiting', ...page })
    const hosted = heads.filter(({ key }) => this.#find(key.contextId) !== undefined)
    const notices = await Promise.all(
      hosted.map(async ({ key }) => ({ key, requests: await this.requests(key) })),
    )
    return {
      notices: notices.filter(({ requests }) => requests.length > 0),
      ...(next === undefined ? {} : { next }),
    }
  }

  artifacts(key: ContextKey): Promise<readonly ArtifactInfo[]> {
    return this.#views(key).artifactStore.list(key.contextId)
  }

  async artifact(key: ContextKey, id: string, version?: number): Promise<ArtifactContent> {
    const { tenant, actor, contextId } = key
    const { artifacts } = new Agent({ store: this.#store, owner: { tenant, actor }, contextId })
    return artifacts.read(id, defined({ version }))
  }

  #views({ tenant, actor }: ContextKey): ReturnType<typeof viewsOf> {
    return viewsOf(this.#store, { tenant, actor })
  }

  async #matching(heads: readonly Head[], search: string): Promise<Head[]> {
    const found: Head[] = []
    for (const head of heads) {
      const { key } = head
      if (key.contextId.toLowerCase().includes(search)) found.push(head)
      else {
        const texts = await this.#searched(key)
        if (texts.some((text) => text.toLowerCase().includes(search))) found.push(head)
      }
    }
    return found
  }

  /** The newest messages; of a graph, the person's words in the newest values. */
  async #searched(key: ContextKey): Promise<readonly string[]> {
    if (this.#find(key.contextId)?.graph === undefined)
      return (await this.messages(key, { maxMessages: SEARCHED_MESSAGES })).map(({ content }) =>
        textOf(content),
      )
    const entries = await this.#store.read(key, { limit: SEARCHED_ENTRIES, order: 'newest' })
    return entries.flatMap(({ type, data }) => (type === 'input' ? personsTexts(data['values']) : []))
  }

  async #info({ key, status, turn, seq, outcome, createdAt, activeAt }: Head): Promise<ConversationInfo> {
    const found = this.#find(key.contextId)
    const { metadata = {}, totals } = await loadSession(this.#store, key)
    return {
      contextId: key.contextId,
      name: found?.name ?? '',
      kind: found?.graph === undefined ? 'agent' : 'graph',
      status,
      turn,
      seq,
      ...defined({ outcome }),
      createdAt: new Date(createdAt).toISOString(),
      activeAt: new Date(activeAt).toISOString(),
      metadata,
      usage: totals.usage,
    }
  }
}

function textOf(content: Message['content']): string {
  if (typeof content === 'string') return content
  return content.map((part) => ('text' in part ? part.text : '')).join(' ')
}
