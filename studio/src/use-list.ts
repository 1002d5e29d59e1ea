/** The list of conversations, read again while the page is in sight, each with its title. */
import { ClientError, type ConversationSummary, type HoldfastClient } from 'holdfast/client'
import { useEffect, useRef, useState } from 'react'
import { titleOf } from './conversation-view.ts'

export interface ListedConversation extends ConversationSummary {
  /** The first message of the person; absent until it is read, or if there is none. */
  readonly title?: string
}

export interface Listed {
  readonly conversations: readonly ListedConversation[]
  readonly hasMore: boolean
  /** True until the first answer of the server. */
  readonly isReading: boolean
  readonly error?: ClientError
}

export interface ListQuery {
  readonly q: string
  readonly limit: number
}

const REFRESH_MS = 5000
const SEARCH_MS = 250
/** The most that the server gives at a time. */
const MOST_LISTED = 200
/** As many titles are read at a time. */
const MOST_READ = 20
/** The first message is the first entry, unless the conversation was imported, forked or pruned. */
const FIRST_ENTRIES = 10
const LONGEST_TITLE = 200

type Titles = Map<string, string | undefined>

/** Reads anew when `stale` changes. */
export function useList(client: HoldfastClient, { q, limit }: ListQuery, stale: unknown): Listed {
  const [listed, setListed] = useState<Listed>({ conversations: [], hasMore: false, isReading: true })
  const titles = useRef<Titles>(new Map())
  useEffect(() => {
    let isOver = false
    const read = async (): Promise<void> => {
      if (document.hidden) return
      try {
        const { conversations, hasMore } = await readList(client, { q, limit })
        const show = (): void => {
          if (isOver) return
          const found = conversations.map((each) => withTitle(each, titles.current))
          setListed({ conversations: found, hasMore, isReading: false })
        }
        show()
        if (await readTitles(client, conversations, titles.current)) show()
      } catch (error) {
        if (!isOver) setListed((before) => ({ ...before, isReading: false, error: asError(error) }))
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

/** As many pages as it takes. */
async function readList(client: HoldfastClient, { q, limit }: ListQuery) {
  const conversations: ConversationSummary[] = []
  let cursor: string | undefined
  do {
    const page = await client.list({
      limit: Math.min(limit - conversations.length, MOST_LISTED),
      ...(q === '' ? {} : { q }),
      ...(cursor === undefined ? {} : { cursor }),
    })
    conversations.push(...page.conversations)
    cursor = page.next
  } while (cursor !== undefined && conversations.length < limit)
  return { conversations, hasMore: cursor !== undefined }
}

function withTitle(each: ConversationSummary, titles: Titles): ListedConversation {
  const title = titles.get(each.contextId)
  return title === undefined ? each : { ...each, title }
}

/** True if some were read. A title does not change, so each is read once. */
async function readTitles(
  client: HoldfastClient,
  conversations: readonly ConversationSummary[],
  titles: Titles,
): Promise<boolean> {
  const missing = conversations.filter(({ contextId }) => !titles.has(contextId)).slice(0, MOST_READ)
  const read = async (contextId: string): Promise<void> => {
    const entries = await client.conversation(contextId).entries({ limit: FIRST_ENTRIES })
    titles.set(contextId, titleOf(entries)?.slice(0, LONGEST_TITLE))
  }
  await Promise.all(missing.map(({ contextId }) => read(contextId)))
  return missing.length > 0
}

function asError(error: unknown): ClientError {
  return error instanceof ClientError ? error : new ClientError(String(error))
}
