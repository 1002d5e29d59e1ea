/** The list of conversations, read again while the page is in sight, and the newest message of each. */
import { ClientError, type ConversationSummary, type HoldfastClient } from 'holdfast/client'
import { useEffect, useRef, useState } from 'react'
import { contentText } from './conversation-view.ts'

export interface ListedConversation extends ConversationSummary {
  /** The newest message; absent until it is read. */
  readonly newest?: string
}

export interface Listed {
  readonly conversations: readonly ListedConversation[]
  readonly hasMore: boolean
  readonly error?: ClientError
}

export interface ListQuery {
  readonly q: string
  readonly limit: number
}

const REFRESH_MS = 5000
const SEARCH_MS = 250
/** As many newest messages are read at a time. */
const MOST_READ = 20

/** Reads anew when `stale` changes. */
export function useList(client: HoldfastClient, { q, limit }: ListQuery, stale: unknown): Listed {
  const [listed, setListed] = useState<Listed>({ conversations: [], hasMore: false })
  const newest = useRef(new Map<string, string>())
  useEffect(() => {
    let isOver = false
    const read = async (): Promise<void> => {
      if (document.hidden) return
      try {
        const { conversations, next } = await client.list({ limit, ...(q === '' ? {} : { q }) })
        const show = (): void => {
          if (isOver) return
          const found = conversations.map((each) => withNewest(each, newest.current))
          setListed({ conversations: found, hasMore: next !== undefined && limit < 200 })
        }
        show()
        if (await readNewest(client, conversations, newest.current)) show()
      } catch (error) {
        if (!isOver) setListed((before) => ({ ...before, error: asError(error) }))
      }
    }
    const first = setTimeout(() => void read(), q === '' ? 0 : SEARCH_MS)
    const again = setInterval(() => void read(), REFRESH_MS)
    return () => {
      isOver = true
      clearTimeout(first)
      clearInterval(again)
    }
  }, [client, q, limit, stale])
  return listed
}

function nameOf({ contextId, turn }: ConversationSummary): string {
  return `${contextId} ${turn}`
}

function withNewest(each: ConversationSummary, newest: ReadonlyMap<string, string>): ListedConversation {
  const text = newest.get(nameOf(each))
  return text === undefined ? each : { ...each, newest: text }
}

/** True if some were read. */
async function readNewest(
  client: HoldfastClient,
  conversations: readonly ConversationSummary[],
  newest: Map<string, string>,
): Promise<boolean> {
  const missing = conversations.filter((each) => !newest.has(nameOf(each))).slice(0, MOST_READ)
  for (const each of missing) {
    const messages = await client.conversation(each.contextId).messages(6)
    const texts = messages.map(({ role, content }) => (role === 'tool' ? '' : contentText(content)))
    const last = texts.findLast((text) => text !== '') ?? ''
    newest.set(nameOf(each), last.slice(0, 200).replace(/[*`#]/g, ''))
  }
  return missing.length > 0
}

function asError(error: unknown): ClientError {
  return error instanceof ClientError ? error : new ClientError(String(error))
}
