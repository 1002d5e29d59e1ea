/**
 * The journal as three stores, for code that treats messages, artifacts and state separately. Writes through any view
 * are ordinary entries, visible to all.
 */
import { copyJson } from '../drive/index.ts'
import { clearContext, loadSession, type Session } from '../journal/index.ts'
import { eraseLogs } from '../observe/index.ts'
import {
  type ArtifactInfo,
  checkOwner,
  defined,
  HoldfastError,
  type Json,
  type JsonObject,
  LOCAL_OWNER,
  type Message,
  type Owner,
} from '../protocol/index.ts'
import { requireStore, type Store } from '../store/index.ts'
import { STATE_CONTEXT } from './actor-state.ts'
import { Agent } from './agent.ts'
import { GRANTS_CONTEXT } from './grants.ts'
import {
  type AppendedMessage,
  appendMessages,
  checkQuery,
  type MessageQuery,
  newestMessages,
  storedMessages,
} from './messages.ts'

export interface MessageStore {
  /** Appends messages from elsewhere: a finished turn for each user message and its replies. */
  append(contextId: string, messages: readonly AppendedMessage[]): Promise<void>
  /** The newest messages, oldest first. Default: 50; fewer only where a round would be split. */
  getRecent(contextId: string, query?: MessageQuery): Promise<readonly Message[]>
  /** All messages that were not cleared or compacted. */
  getAll(contextId: string): Promise<readonly Message[]>
  /** A message with several results counts once for each of them. */
  count(contextId: string): Promise<number>
  /** Shrinks the window to about `keep` messages. False if nothing could be cut. */
  compact(contextId: string, options?: { readonly keep?: number }): Promise<boolean>
  clear(contextId: string): Promise<void>
}

export interface ArtifactStore {
  /** A text or bytes become a file, other values data; each save makes a new version. */
  save(contextId: string, artifactId: string, content: string | Uint8Array | Json): Promise<ArtifactInfo>
  get(contextId: string, artifactId: string): Promise<string | Uint8Array | Json | undefined>
  list(contextId: string): Promise<readonly ArtifactInfo[]>
  delete(contextId: string, artifactId: string): Promise<void>
}

export interface AgentMetadata {
  readonly contextId: string
  readonly createdAt: string
  readonly lastActivity: string
  readonly turnCount: number
  /**
   * Derived from the journal: `busy` while a turn is open, `waiting` for an answer; `paused` or `shutdown` if an agent
   * stopped so and the conversation has not been driven since.
   */
  readonly status: 'ready' | 'busy' | 'waiting' | 'paused' | 'shutdown'
  readonly metadata: JsonObject
}

export interface StateStore {
  load(contextId: string): Promise<AgentMetadata | undefined>
  /** Saves only the metadata; the rest is derived from the journal. */
  save(contextId: string, state: { readonly metadata: JsonObject }): Promise<void>
  list(): Promise<readonly AgentMetadata[]>
  /** Erases the conversation and everything below it, with its logs in the default folders. */
  delete(contextId: string): Promise<void>
}

export interface Views {
  readonly messageStore: MessageStore
  readonly artifactStore: ArtifactStore
  readonly stateStore: StateStore
}

export function viewsOf(store: Store, owner: Owner = LOCAL_OWNER): Views {
  requireStore('viewsOf()', store)
  checkOwner(owner)
  const agentOf = (contextId: string) => new Agent({ store, owner, contextId })
  const keyOf = (contextId: string) => ({ ...owner, contextId })
  return {
    messageStore: {
      append: (contextId, messages) => appendMessages(store, keyOf(contextId), messages),
      getRecent: async (contextId, query = {}) => {
        checkQuery('getRecent()', query)
        return newestMessages(await storedMessages(store, keyOf(contextId)), { maxMessages: 50, ...query })
      },
      getAll: async (contextId) => newestMessages(await storedMessages(store, keyOf(contextId)), {}),
      count: async (contextId) => (await loadSession(store, keyOf(contextId))).window.messages,
      compact: (contextId, options) => agentOf(contextId).compact(options),
      clear: async (contextId) => void (await clearContext(store, keyOf(contextId))),
    },
    artifactStore: artifactStore(agentOf),
    stateStore: stateStore(store, owner, agentOf),
  }
}

function artifactStore(agentOf: (contextId: string) => Agent): ArtifactStore {
  return {
    save: (contextId, artifactId, content) => {
      const { artifacts } = agentOf(contextId)
      const isFile = typeof content === 'string' || content instanceof Uint8Array
      return isFile ? artifacts.writeFile(artifactId, content) : artifacts.writeData(artifactId, content)
    },
    get: async (contextId, artifactId) => {
      try {
        return (await agentOf(contextId).artifacts.read(artifactId)).content
      } catch (error) {
        if (HoldfastError.is(error, 'not-found')) return undefined
        throw error
      }
    },
    list: (contextId) => agentOf(contextId).getArtifacts(),
    delete: async (contextId, artifactId) => void (await agentOf(contextId).artifacts.delete(artifactId)),
  }
}

/** Journals of a person, which are no conversations. */
const PERSONS_OWN: ReadonlySet<string> = new Set([STATE_CONTEXT, GRANTS_CONTEXT])

function statusOf({ open, parked, closed }: Session): AgentMetadata['status'] {
  if (parked !== undefined) return 'waiting'
  return closed ?? (open === undefined ? 'ready' : 'busy')
}

function stateStore(store: Store, owner: Owner, agentOf: (contextId: string) => Agent): StateStore {
  const load = async (contextId: string): Promise<AgentMetadata | undefined> => {
    const session = await loadSession(store, { ...owner, contextId })
    if (session.seq === 0) return undefined
    return {
      contextId,
      createdAt: new Date(session.createdAt).toISOString(),
      lastActivity: new Date(session.at).toISOString(),
      turnCount: session.turn,
      status: statusOf(session),
      metadata: session.metadata ?? {},
    }
  }
  return {
    load,
    save: async (contextId, { metadata }) => agentOf(contextId).saveState(copyJson('metadata', metadata)),
    list: async () => {
      const all: AgentMetadata[] = []
      for (let cursor: string | undefined; ; ) {
        const page = await store.list({ owner, ...defined({ cursor }) })
        for (const { key } of page.heads) {
          const state = PERSONS_OWN.has(key.contextId) ? undefined : await load(key.contextId)
          if (state !== undefined) all.push(state)
        }
        cursor = page.next
        if (cursor === undefined) return all
      }
    },
    delete: async (contextId) => {
      await store.erase({ ...owner, contextId })
      await eraseLogs(store)
    },
  }
}
