/** Follows one conversation: its events as a view, and the state of the connection. */
import { ClientError, type ClientEvent, type ConversationClient, type HoldfastClient } from 'holdfast/client'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { type ConversationView, EMPTY, withEvents } from './conversation-view.ts'

export type Connection =
  /** It has no entries: nothing is followed. */
  | { readonly state: 'missing' }
  | { readonly state: 'connecting' | 'connected' }
  | { readonly state: 'reconnecting' }
  | { readonly state: 'failed'; readonly error: ClientError }

export interface Followed {
  readonly conversation: ConversationClient
  readonly view: ConversationView
  readonly connection: Connection
  readonly kind: 'agent' | 'graph' | undefined
  /** Connects now. */
  readonly follow: () => void
  /** A message was stored: a conversation that was missing exists now, and is followed. */
  readonly stored: () => void
  /** Set if older entries are not shown. */
  readonly earlier: (() => void) | undefined
}

/** The part of a conversation that the view has. */
interface Shown {
  readonly conversation: ConversationClient
  /** One that was erased and begun again is another. */
  readonly createdAt: string
  readonly window: number
  /** The position of the last entry. */
  readonly last: number
}

const WINDOW = 1000
/** The wait after a conversation could not be read. */
const AGAIN_MS = 2000
/** Events that come together are drawn together. */
const DRAW_MS = 30

export function useConversation(client: HoldfastClient, contextId: string): Followed {
  const conversation = useMemo(() => client.conversation(contextId), [client, contextId])
  const { view, since, begin } = useView()
  const [connection, setConnection] = useState<Connection>({ state: 'connecting' })
  const [kind, setKind] = useState<Followed['kind']>()
  const { wanted, again, more } = useWanted()
  const isVisible = useVisible()
  const messages = useRef({ stored: 0, isMissing: false })
  const follow = useCallback((): void => {
    messages.current.isMissing = false
    setConnection({ state: 'connecting' })
    again()
  }, [again])
  useEffect(() => {
    if (!isVisible) return undefined
    const stop = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const { stored } = messages.current
    const run = async (): Promise<void> => {
      const { seq, status, kind: found, createdAt } = await conversation.get()
      if (stop.signal.aborted) return
      setKind(found)
      const part = { conversation, createdAt, window: wanted.window }
      const { from, upTo, draw } = begin(part, { seq, isRunning: status === 'running' })
      const batch = batched(draw, { upTo, signal: stop.signal })
      for await (const event of conversation.events({ since: from, signal: stop.signal })) {
        if (event.type === 'disconnected') setConnection({ state: 'reconnecting' })
        if (event.type === 'connected') setConnection({ state: 'connected' })
        batch(event)
      }
    }
    const failed = (error: ClientError): void => {
      // The answer may be older than a message that was stored meanwhile.
      const isStale = isMissing(error) && messages.current.stored > stored
      if (error.isTransient) timer = setTimeout(again, AGAIN_MS)
      if (isStale) follow()
      else setConnection(afterFailure(error))
      messages.current.isMissing = isMissing(error) && !isStale
    }
    run().catch((thrown: unknown) => {
      if (!stop.signal.aborted)
        failed(thrown instanceof ClientError ? thrown : new ClientError(String(thrown)))
    })
    return () => {
      stop.abort()
      clearTimeout(timer)
    }
  }, [conversation, wanted, isVisible, begin, follow, again])
  return {
    conversation,
    view,
    connection,
    kind,
    follow,
    stored: () => {
      messages.current.stored += 1
      if (messages.current.isMissing) follow()
    },
    earlier: since > 0 ? more : undefined,
  }
}

interface Newest {
  readonly seq: number
  readonly isRunning: boolean
}

/** The view, and the part of the conversation that it has. */
function useView() {
  const [view, setView] = useState(EMPTY)
  const [since, setSince] = useState(0)
  const shown = useRef<Shown>(undefined)
  /** Goes on after the last entry of the same part, and else reads another. */
  const begin = useCallback((part: Omit<Shown, 'last'>, { seq, isRunning }: Newest) => {
    const known = isSame(shown.current, part) ? shown.current : undefined
    const from = known?.last ?? Math.max(0, seq - part.window)
    const begun: ConversationView = { ...EMPTY, isRunning: from > 0 && isRunning }
    const draw = (events: readonly ClientEvent[], isFirst: boolean): void => {
      shown.current = { ...part, last: lastSeq(events) ?? shown.current?.last ?? from }
      if (isFirst) setSince(from)
      // Drawn in one step, so that cards keep their drafts while older entries come before them.
      setView((before) => withEvents(isFirst ? begun : before, events))
    }
    return { from, upTo: known === undefined ? seq : 0, draw }
  }, [])
  return { view, since, begin }
}

function isSame(shown: Shown | undefined, part: Omit<Shown, 'last'>): boolean {
  return (
    shown?.conversation === part.conversation &&
    shown.createdAt === part.createdAt &&
    shown.window === part.window
  )
}

function lastSeq(events: readonly ClientEvent[]): number | undefined {
  const last = events.findLast((event) => event.type === 'entry')
  return last?.type === 'entry' ? last.entry.seq : undefined
}

/** 410: it was erased, and a new message does not bring it back. */
function isMissing({ status }: ClientError): boolean {
  return status === 404 || status === 410
}

function afterFailure(error: ClientError): Connection {
  if (error.isTransient) return { state: 'reconnecting' }
  return isMissing(error) ? { state: 'missing' } : { state: 'failed', error }
}

/** The number of entries to read, and how often they were asked for. */
function useWanted() {
  const [wanted, setWanted] = useState({ window: WINDOW, times: 0 })
  const again = useCallback((): void => setWanted(({ window, times }) => ({ window, times: times + 1 })), [])
  const more = (): void => setWanted(({ window, times }) => ({ window: window + WINDOW, times }))
  return { wanted, again, more }
}

/** False for a tab in the background: browsers open six connections to a server for all tabs together. */
function useVisible(): boolean {
  const [isVisible, setVisible] = useState(!document.hidden)
  useEffect(() => {
    const changed = (): void => setVisible(!document.hidden)
    document.addEventListener('visibilitychange', changed)
    return () => document.removeEventListener('visibilitychange', changed)
  }, [])
  return isVisible
}

interface Batches {
  /** All events up to this entry are one batch, the first. */
  readonly upTo: number
  readonly signal: AbortSignal
}

function batched(
  draw: (events: readonly ClientEvent[], isFirst: boolean) => void,
  { upTo, signal }: Batches,
) {
  let events: ClientEvent[] = []
  let isFirst = upTo > 0
  const flush = (): void => {
    const [taken, wasFirst] = [events, isFirst]
    events = []
    isFirst = false
    if (!signal.aborted) draw(taken, wasFirst)
  }
  return (event: ClientEvent): void => {
    events.push(event)
    if (isFirst) {
      if (event.type === 'entry' && event.entry.seq >= upTo) flush()
    } else if (events.length === 1) setTimeout(flush, DRAW_MS)
  }
}
