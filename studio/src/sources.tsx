/** The sources beside a research answer, and the passage of one, with its quote in the text of the page. */
import { ClientError, type HoldfastClient, type SourcePassage } from 'holdfast/client'
import { useEffect, useRef, useState } from 'react'
import { Markdown } from './markdown.tsx'
import { type Source, sectionOf, splitAtQuote } from './source.ts'
import { shortText, visible } from './visible-text.ts'

interface SourcesProps {
  readonly sources: readonly Source[]
  readonly onOpen: (source: Source) => void
}

export function Sources({ sources, onOpen }: SourcesProps) {
  return (
    <section className="sources" aria-label="Sources">
      <h4>Sources</h4>
      <ol>
        {sources.map((source) => (
          <li key={source.number}>
            <button type="button" className="source" onClick={() => onOpen(source)}>
              <span className="number">{source.number}</span>
              <span className="title">{visible(source.title)}</span>
              <span className="muted place">{placeOf(source)}</span>
              <span className="quote">{shortText(source.quote, 160)}</span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  )
}

function placeOf({ kind, page, source }: Source): string {
  if (kind === 'web') return shortText(source, 60)
  return page === undefined ? '' : `page ${page}`
}

interface PassageProps {
  readonly client: HoldfastClient
  readonly source: Source
  readonly onClose: () => void
}

export function PassagePanel({ client, source, onClose }: PassageProps) {
  const { passage, problem } = usePassage(client, source)
  const section = passage && sectionOf(source.source, passage, source.quote)
  const placed = source.page === undefined ? section && `Section ${visible(section)}` : `Page ${source.page}`
  const close = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    const opener = document.activeElement
    close.current?.focus()
    return () => {
      // The focus was on the panel, and nowhere else since.
      if (document.activeElement === document.body && opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  return (
    <article className="passage">
      <div className="row">
        <h3>{visible(source.title)}</h3>
        <button type="button" ref={close} onClick={onClose}>
          Close
        </button>
      </div>
      {source.kind === 'web' ? (
        <Markdown text={source.source} />
      ) : (
        <p className="muted">
          {placed === undefined ? '' : `${placed} · `}
          <span className="mono path">{visible(source.source)}</span>
        </p>
      )}
      <h4>Quote</h4>
      <blockquote>{visible(source.quote)}</blockquote>
      {problem !== '' && <p className="error">{visible(problem)}</p>}
      {passage !== undefined && <PassageText passage={passage} quote={source.quote} />}
    </article>
  )
}

function PassageText({ passage, quote }: { readonly passage: SourcePassage; readonly quote: string }) {
  const [before, found, after] = splitAtQuote(passage.text, quote)
  return (
    <>
      <h4>Text around it</h4>
      <p className="plain text">
        <span className="muted">{visible(passage.before)}</span>
        {visible(before)}
        {found !== '' && <mark>{visible(found)}</mark>}
        {visible(after)}
        <span className="muted">{visible(passage.after)}</span>
      </p>
    </>
  )
}

/** Web pages are not kept: their quote is all there is. */
function usePassage(client: HoldfastClient, { kind, passageId }: Source) {
  const [passage, setPassage] = useState<SourcePassage>()
  const [problem, setProblem] = useState('')
  useEffect(() => {
    let isOver = false
    if (kind === 'web') return undefined
    client
      .passage(passageId)
      .then((found) => isOver || setPassage(found))
      .catch((error: unknown) => {
        const isGone = error instanceof ClientError && error.status === 404
        const text = error instanceof Error ? error.message : String(error)
        if (!isOver)
          setProblem(isGone ? 'The document was changed or removed: its text is not there any more.' : text)
      })
    return () => {
      isOver = true
    }
  }, [client, kind, passageId])
  return { passage, problem }
}
