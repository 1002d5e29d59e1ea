/** Markdown as React nodes: never HTML. A link shows where it leads. */
import { memo, useState } from 'react'
import { type Block, blocksOf, type Inline } from './markdown-blocks.ts'
import { visible } from './visible-text.ts'

const MOST_SHOWN = 20_000

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
    case 'list': {
      const items = block.items.map((content, at) => (
        <li key={at}>
          <InlineView content={content} />
        </li>
      ))
      return block.isOrdered ? <ol start={block.start}>{items}</ol> : <ul>{items}</ul>
    }
  }
}

function InlineView({ content }: { readonly content: readonly Inline[] }) {
  return content.map((part, at) => <Part key={at} part={part} />)
}

function Part({ part }: { readonly part: Inline }) {
  const text = visible(part.text)
  switch (part.type) {
    case 'text':
      return text
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
