/** Markdown as React nodes: never HTML. A link shows where it leads. */
import { createContext, memo, useContext, useState } from 'react'
import { type Block, blocksOf, type Inline, type List } from './markdown-blocks.ts'
import { visible } from './visible-text.ts'

const MOST_SHOWN = 20_000

/** Opens the source of a number in brackets; absent for a number without a source, and for any other text. */
export type Citation = (number: number) => (() => void) | undefined

/** The citations of the text inside of it. */
export const Citations = createContext<Citation | undefined>(undefined)

export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  const [isWhole, setWhole] = useState(false)
  const isLong = !isWhole && text.length > MOST_SHOWN
  return (
    <div className="markdown">
      {blocksOf(isLong ? text.slice(0, MOST_SHOWN) : text).map((block, at) => (
        <BlockView key={at} block={block} />
      ))}
      {isLong && <ShowAll length={text.length} onClick={() => setWhole(true)} />}
    </div>
  )
})

/** Text of programs: as it is, in a fixed width. */
export function Code({ text, label }: { readonly text: string; readonly label?: string }) {
  const [isWhole, setWhole] = useState(false)
  const isLong = !isWhole && text.length > MOST_SHOWN
  return (
    <>
      {/* Keyboards can scroll it. */}
      <pre className="code" tabIndex={0} aria-label={label}>
        {isLong ? text.slice(0, MOST_SHOWN) : text}
      </pre>
      {isLong && <ShowAll length={text.length} onClick={() => setWhole(true)} />}
    </>
  )
}

function ShowAll({ length, onClick }: { readonly length: number; readonly onClick: () => void }) {
  return (
    <button type="button" className="quiet" onClick={onClick}>
      Show all {length.toLocaleString()} characters
    </button>
  )
}

function BlockView({ block }: { readonly block: Block }) {
  switch (block.type) {
    case 'code':
      return <Code text={visible(block.text)} label="Code" />
    case 'heading':
      return (
        <p className="heading">
          <InlineView content={block.content} />
        </p>
      )
    case 'paragraph':
      return (
        <p>
          <InlineView content={block.content} />
        </p>
      )
    case 'quote':
      return (
        <blockquote dir="auto">
          <p>
            <InlineView content={block.content} />
          </p>
        </blockquote>
      )
    case 'table':
      return <Table rows={block.rows} />
    case 'list':
      return <ListView list={block} />
  }
}

function ListView({ list: { isOrdered, start, items } }: { readonly list: List }) {
  const shown = items.map((parts, at) => (
    <li key={at}>
      {parts.map((part, number) =>
        part.type === 'list' ? <ListView key={number} list={part} /> : <Part key={number} part={part} />,
      )}
    </li>
  ))
  return isOrdered ? (
    <ol start={start} dir="auto">
      {shown}
    </ol>
  ) : (
    <ul dir="auto">{shown}</ul>
  )
}

function Table({ rows: [head = [], ...rows] }: { readonly rows: readonly Inline[][][] }) {
  return (
    <div className="table">
      <table dir="auto">
        <thead>
          <tr>
            {head.map((cell, at) => (
              <th key={at}>
                <InlineView content={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, number) => (
            <tr key={number}>
              {row.map((cell, at) => (
                <td key={at}>
                  <InlineView content={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function InlineView({ content }: { readonly content: readonly Inline[] }) {
  return content.map((part, at) => <Part key={at} part={part} />)
}

function Part({ part }: { readonly part: Inline }) {
  const text = visible(part.text)
  switch (part.type) {
    case 'text':
      return <CitingText text={text} />
    case 'code':
      return <code>{text}</code>
    case 'bold':
      return <strong>{text}</strong>
    case 'italic':
      return <em>{text}</em>
    case 'link':
      return <Link text={text} href={part.href} />
  }
}

/** A text whose `[1]` opens the source of that number. */
function CitingText({ text }: { readonly text: string }) {
  const citation = useContext(Citations)
  if (citation === undefined) return text
  return text.split(/(\[\d{1,3}\])/).map((part, at) => {
    const number = Number(/^\[(\d+)\]$/.exec(part)?.[1])
    const open = Number.isNaN(number) ? undefined : citation(number)
    if (open === undefined) return part
    return (
      <button key={at} type="button" className="citation" aria-label={`Source ${number}`} onClick={open}>
        {part}
      </button>
    )
  })
}

function Link({ text, href }: { readonly text: string; readonly href: string }) {
  return (
    <>
      <a href={href} target="_blank" rel="noopener noreferrer">
        {text}
      </a>
      {text !== href && (
        <span className="target"> ({href.length > 100 ? `${href.slice(0, 99)}…` : href})</span>
      )}
    </>
  )
}
