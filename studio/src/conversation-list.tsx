/** The list of conversations: search, a new one for each agent, and the newest message of each. */
import type { HoldfastClient } from 'holdfast/client'
import { useState } from 'react'
import { type ListedConversation, useList } from './use-list.ts'
import { shortText, visible } from './visible-text.ts'

interface ListProps {
  readonly client: HoldfastClient
  readonly names: readonly string[]
  readonly current: string | undefined
  readonly stale: unknown
  readonly onNew: (name: string) => void
}

const PAGE = 50

export function ConversationList({ client, names, current, stale, onNew }: ListProps) {
  const [q, setQuery] = useState('')
  const [limit, setLimit] = useState(PAGE)
  const { conversations, hasMore, error } = useList(client, { q, limit }, stale)
  return (
    <nav className="list" aria-label="Conversations">
      <NewConversation names={names} onNew={onNew} />
      <input
        type="search"
        aria-label="Search conversations"
        placeholder="Search"
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
      {conversations.length === 0 && (
        <p className="muted empty">{q === '' ? 'No conversations yet.' : 'Nothing found.'}</p>
      )}
      {hasMore && (
        <button type="button" className="quiet" onClick={() => setLimit(Math.min(limit * 2, 200))}>
          Show more
        </button>
      )}
    </nav>
  )
}

function NewConversation({ names, onNew }: Pick<ListProps, 'names' | 'onNew'>) {
  const [chosen, setChosen] = useState<string>()
  const name = chosen ?? names[0]
  if (name === undefined) return null
  return (
    <div className="new">
      {names.length > 1 && (
        <select aria-label="Agent" value={name} onChange={({ target }) => setChosen(target.value)}>
          {names.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      )}
      <button type="button" className="primary" onClick={() => onNew(name)}>
        New conversation
      </button>
    </div>
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
  const { contextId, name, status, activeAt, newest } = conversation
  const badge = STATUS[status]
  return (
    <a href={addressOf(contextId)} aria-current={isCurrent ? 'page' : undefined}>
      <span className="title">{newest ? shortText(newest, 80) : visible(contextId)}</span>
      <span className="meta">
        {visible(name)} · <time dateTime={activeAt}>{agoText(activeAt)}</time>
        {badge !== undefined && <span className={`badge ${status}`}>{badge}</span>}
      </span>
    </a>
  )
}

export function addressOf(contextId: string): string {
  return `#/${encodeURIComponent(contextId)}`
}

function agoText(time: string): string {
  const minutes = Math.floor((Date.now() - Date.parse(time)) / 60_000)
  if (minutes < 1) return 'now'
  if (minutes < 60) return `${minutes} min ago`
  if (minutes < 60 * 24) return `${Math.floor(minutes / 60)} h ago`
  return new Date(time).toLocaleDateString()
}
