/** The chat: items in order, the reply under way, and an announcer for readers of screens. */
import { memo, useEffect, useLayoutEffect, useRef } from 'react'
import { CallCard } from './call-card.tsx'
import type { ConversationView, Item, Live, UserItem } from './conversation-view.ts'
import { ItemBoundary } from './item-boundary.tsx'
import { type Citation, Citations, Code, Markdown } from './markdown.tsx'
import { type Answer, RequestCard } from './request-card.tsx'
import type { Source } from './source.ts'
import { Sources } from './sources.tsx'
import { jsonText, visible } from './visible-text.ts'

export interface ChatActions {
  readonly onAnswer: Answer
  readonly onContinue: () => void
  readonly onSource: (source: Source) => void
}

interface ChatProps {
  readonly view: ConversationView
  readonly actions: ChatActions
  /** Set if older entries are not shown. */
  readonly onEarlier: (() => void) | undefined
}

export function Chat({ view, actions, onEarlier }: ChatProps) {
  const { items, live, isRunning, said } = view
  const scroller = useScrollToEnd(view)
  return (
    <>
      {/* Keyboards can scroll it. */}
      <section className="chat" ref={scroller} tabIndex={0} aria-label="Messages">
        <div className="column">
          {onEarlier && (
            <button type="button" className="quiet" onClick={onEarlier}>
              Show earlier
            </button>
          )}
          {items.map((item, at) => (
            <ItemBoundary key={`${item.type}-${item.id}`}>
              <ItemView item={item} actions={actions} isLast={!isRunning && at === items.length - 1} />
            </ItemBoundary>
          ))}
          {live !== undefined && <LiveReply live={live} />}
          {live === undefined && isRunning && <Working />}
        </div>
      </section>
      <Announcer text={said} />
    </>
  )
}

/** Stays at the end while the reader is there, and at the same item while older ones come before it. */
function useScrollToEnd(view: ConversationView) {
  const scroller = useRef<HTMLElement>(null)
  const isAtEnd = useRef(true)
  const before = useRef({ first: '', height: 0 })
  const first = view.items[0]?.id ?? ''
  useEffect(() => {
    const element = scroller.current
    if (element === null) return undefined
    const scrolled = (): void => {
      isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 80
    }
    // Windows change their size, and keyboards of phones cover a part of it.
    const resized = new ResizeObserver(() => {
      if (isAtEnd.current) element.scrollTop = element.scrollHeight
    })
    resized.observe(element)
    element.addEventListener('scroll', scrolled, { passive: true })
    return () => {
      resized.disconnect()
      element.removeEventListener('scroll', scrolled)
    }
  }, [])
  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return
    const { scrollHeight } = element
    if (isAtEnd.current) element.scrollTop = scrollHeight
    else if (first !== before.current.first) element.scrollTop += scrollHeight - before.current.height
    before.current = { first, height: scrollHeight }
  }, [first, view])
  return scroller
}

interface ItemProps {
  readonly item: Item
  readonly actions: ChatActions
  readonly isLast: boolean
}

const ItemView = memo(function ItemView({ item, actions, isLast }: ItemProps) {
  switch (item.type) {
    case 'user':
      return (
        <div className="message user">
          <span className="hidden">You: </span>
          <UserText item={item} />
        </div>
      )
    case 'reply':
      return (
        <Reply
          text={item.text}
          reasoning={item.reasoning}
          isStep={item.isStep}
          sources={item.sources}
          onSource={actions.onSource}
        />
      )
    case 'call':
      return <CallCard item={item} />
    case 'request':
      return <RequestCard item={item} onAnswer={actions.onAnswer} />
    case 'notice':
      return (
        <div className={`notice ${item.tone}`}>
          <p>{visible(item.text)}</p>
          {item.canContinue && isLast && (
            <button type="button" onClick={actions.onContinue}>
              Go on
            </button>
          )}
        </div>
      )
  }
})

/** The message; the values of a run on request, or in its place if they hold none. */
function UserText({ item: { text, values } }: { readonly item: UserItem }) {
  if (values === undefined) return <PlainText text={text} />
  if (text === '') return <Code text={jsonText(values)} label="Values" />
  return (
    <>
      <PlainText text={text} />
      <details className="values">
        <summary>Values</summary>
        <Code text={jsonText(values)} label="Values" />
      </details>
    </>
  )
}

function PlainText({ text }: { readonly text: string }) {
  return (
    <p className="plain" dir="auto">
      {visible(text)}
    </p>
  )
}

interface ReplyProps {
  readonly text: string
  readonly reasoning: string
  readonly isStep?: true | undefined
  readonly sources?: readonly Source[] | undefined
  readonly onSource?: (source: Source) => void
}

function Reply({ text, reasoning, isStep, sources = [], onSource }: ReplyProps) {
  const isCited = onSource !== undefined && sources.length > 0
  return (
    <div className={`message reply ${isCited ? 'cited' : ''} ${isStep ? 'step' : ''}`}>
      <span className="hidden">{isStep ? 'Step: ' : 'Reply: '}</span>
      {reasoning !== '' && (
        <details className="reasoning">
          <summary>Reasoning</summary>
          <Markdown text={reasoning} />
        </details>
      )}
      {text !== '' && (
        <Citations value={isCited ? citationOf(sources, onSource) : undefined}>
          <Markdown text={text} />
        </Citations>
      )}
      {isCited && <Sources sources={sources} onOpen={onSource} />}
    </div>
  )
}

function citationOf(sources: readonly Source[], onSource: (source: Source) => void): Citation {
  return (number) => {
    const source = sources.find((each) => each.number === number)
    return source === undefined ? undefined : () => onSource(source)
  }
}

function LiveReply({ live: { text, reasoning, calls } }: { readonly live: Live }) {
  if (text === '' && reasoning === '' && calls.length === 0) return <Working />
  return (
    <div className="live">
      <Reply text={text} reasoning={reasoning} />
      {calls.map((call) => (
        <p key={call.callId} className="muted mono">
          {visible(call.tool)} {visible(call.text.slice(-200))}
        </p>
      ))}
    </div>
  )
}

function Working() {
  return (
    <output className="working">
      <span aria-hidden="true" className="dots">
        <i />
        <i />
        <i />
      </span>
      <span className="hidden">Working…</span>
    </output>
  )
}

/** Whole sentences, each added once: a reader of the screen is not interrupted by every token. */
function Announcer({ text }: { readonly text: string }) {
  const sentences = text.slice(0, 20_000).split(/(?<=[.!?:]\s|\n)/)
  return (
    <div className="hidden" aria-live="polite" aria-relevant="additions">
      {sentences.map((sentence, at) =>
        /\s$/.test(sentence) ? <p key={`${at} ${sentence}`}>{visible(sentence)}</p> : null,
      )}
    </div>
  )
}
