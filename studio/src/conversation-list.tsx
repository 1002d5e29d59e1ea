/** The list of conversations: search, and the first message of each with the time of the last one. */
import type { HoldfastClient } from 'holdfast/client'
import { type ReactNode, useState } from 'react'
import { addressOf } from './address.ts'
import { type ListedConversation, useList } from './use-list.ts'
import { shortText, visible } from './visible-text.ts'

interface ListProps {
  readonly client: HoldfastClient
  readonly current: string | undefined
  readonly stale: unknown
  /** Above the search. */
  readonly children: ReactNode
}

const PAGE = 50

export function ConversationList({ client, current, stale, children }: ListProps) {
  const [q, setQuery] = useState('')
  const [limit, setLimit] = useState(PAGE)
  const { conversations, hasMore, isReading, error } = useList(client, { q, limit }, stale)
  return (
    <nav className="list" aria-label="Conversations">
      {children}
      <input
        type="search"
        aria-label="Search conversations"
        placeholder="Search"
        maxLength={200}
        dir="auto"
        value={q}
        onChange={({ target }) => setQuery(target.value)}
      />
      {error !== undefined && <p className="error">{visible(error.message)}</p>}
      <ul>
        {conversations.map((each) => (
          <li key={each.contextId}>
            <Row conversation={each} isCurrent={each.contextId === current} />
          </li>
        ))}
      </ul>
      {conversations.length === 0 && !isReading && (
        <p className="muted empty">{q === '' ? 'No conversations yet.' : 'Nothing found.'}</p>
      )}
      {hasMore && (
        <button type="button" className="quiet" onClick={() => setLimit(limit * 2)}>
          Show more
        </button>
      )}
    </nav>
  )
}

const STATUS: Readonly<Record<string, string>> = {
  running: 'running',
  waiting: 'waits for you',
  paused: 'paused',
}

function Row({
  conversation,
  isCurrent,
}: {
  readonly conversation: ListedConversation
  readonly isCurrent: boolean
}) {
  const { contextId, name, status, activeAt, title } = conversation
  const badge = STATUS[status]
  return (
    <a href={addressOf(contextId)} aria-current={isCurrent ? 'page' : undefined}>
      <span className="title" dir="auto">
        {title ? shortText(title, 80) : visible(contextId)}
      </span>
      <span className="meta">
        {visible(name)} ·{' '}
        <time dateTime={activeAt} title={new Date(activeAt).toLocaleString()}>
          {agoText(activeAt)}
        </time>
        {badge !== undefined && <span className={`badge ${status}`}>{badge}</span>}
      </span>
    </a>
  )
}

function agoText(time: string): string {
  const minutes = Math.floor((Date.now() - Date.parse(time)) / 60_000)
  if (minutes < 1) return 'now'
  if (minutes < 60) return `${minutes} min ago`
  if (minutes < 60 * 24) return `${Math.floor(minutes / 60)} h ago`
  return new Date(time).toLocaleDateString()
}
