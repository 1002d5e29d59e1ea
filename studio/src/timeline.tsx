/** The entries of the journal, each with its data when it is opened. */
import { memo, useState } from 'react'
import { Code } from './markdown.tsx'
import type { Entry, Json } from './types.ts'
import { jsonText, shortText, visible } from './visible-text.ts'

export function Timeline({ entries }: { readonly entries: readonly Entry[] }) {
  return (
    <ol className="timeline" aria-label="Entries">
      {entries.map((entry) => (
        <EntryRow key={entry.seq} entry={entry} />
      ))}
    </ol>
  )
}

const EntryRow = memo(function EntryRow({ entry }: { readonly entry: Entry }) {
  const [isOpen, setOpen] = useState(false)
  const { seq, turn, at, type, data } = entry
  return (
    <li>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <span className="seq">{seq}</span>
          <span className="mono">{visible(type)}</span>
          <time dateTime={new Date(at).toISOString()}>{new Date(at).toLocaleTimeString()}</time>
          <span className="line muted">{brief(data)}</span>
        </summary>
        {isOpen && (
          <>
            <p className="muted">{turn > 0 ? `Turn ${turn}` : 'Outside of turns'}</p>
            <Code text={jsonText(data)} label={`Data of entry ${seq}`} />
          </>
        )}
      </details>
    </li>
  )
})

/** The fields that say most about an entry. */
function brief(data: Entry['data']): string {
  const { tool, node, model, outcome, status, message, text, prompt, name, reason, how } = data
  const found = [tool, node, model, outcome, status, message, text, prompt, name, how, reason]
  return shortText(
    found
      .filter((each): each is Json => each !== undefined)
      .map((each) => shortText(each, 60))
      .join(' · '),
    90,
  )
}
