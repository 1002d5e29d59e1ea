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
  /** Begins anew after a failure. */
  readonly follow: () => void
  /** A message was stored: a conversation that was missing exists now, and is followed. */
  readonly stored: () => void
  /** Set if older entries are not shown. */
  readonly earlier: (() => void) | undefined
}

const WINDOW = 1000
/** The wait after a conversation could not be read. */
const AGAIN_MS = 2000
/** Events that come together are drawn together. */
const DRAW_MS = 30

export function useConversation(client: HoldfastClient, contextId: string): Followed {
  const conversation = useMemo(() => client.conversation(contextId), [client, contextId])
  const [view, setView] = useState(EMPTY)
  const [connection, setConnection] = useState<Connection>({ state: 'connecting' })
  const [kind, setKind] = useState<Followed['kind']>()
  const [since, setSince] = useState(0)
  const { wanted, again, more } = useWanted()
  const messages = useRef({ stored: 0, isMissing: false })
  const follow = useCallback((): void => {
    messages.current.isMissing = false
    setConnection({ state: 'connecting' })
    again()
  }, [again])
  useEffect(() => {
    const stop = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const { stored } = messages.current
    const draw = batched((events) => setView((before) => withEvents(before, events)), stop.signal)
    const run = async (): Promise<void> => {
      const { seq, status, kind: found } = await conversation.get()
      if (stop.signal.aborted) return
      const from = Math.max(0, seq - wanted.window)
      setKind(found)
      setSince(from)
      setView({ ...EMPTY, isRunning: from > 0 && status === 'running' })
      for await (const event of conversation.events({ since: from, signal: stop.signal })) {
        if (event.type === 'disconnected') setConnection({ state: 'reconnecting' })
        if (event.type === 'connected') setConnection({ state: 'connected' })
        draw(event)
      }
    }
    const failed = (error: ClientError): void => {
      // The answer may be older than a message that was stored meanwhile.
      const isStale = error.status === 404 && messages.current.stored > stored
      if (error.isTransient) timer = setTimeout(again, AGAIN_MS)
      if (isStale) follow()
      else setConnection(afterFailure(error))
      messages.current.isMissing = error.status === 404 && !isStale
    }
    run().catch((thrown: unknown) => {
      if (!stop.signal.aborted)
        failed(thrown instanceof ClientError ? thrown : new ClientError(String(thrown)))
    })
    return () => {
      stop.abort()
      clearTimeout(timer)
    }
  }, [conversation, wanted, follow, again])
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

function afterFailure(error: ClientError): Connection {
  if (error.isTransient) return { state: 'reconnecting' }
  return error.status === 404 ? { state: 'missing' } : { state: 'failed', error }
}

/** The number of entries to read, and how often they were asked for. */
function useWanted() {
  const [wanted, setWanted] = useState({ window: WINDOW, times: 0 })
  const again = useCallback((): void => setWanted(({ window, times }) => ({ window, times: times + 1 })), [])
  const more = (): void => setWanted(({ window, times }) => ({ window: window + WINDOW, times }))
  return { wanted, again, more }
}

function batched(draw: (events: readonly ClientEvent[]) => void, signal: AbortSignal) {
  let events: ClientEvent[] = []
  return (event: ClientEvent): void => {
    events.push(event)
    if (events.length > 1) return
    setTimeout(() => {
      const taken = events
      events = []
      if (!signal.aborted) draw(taken)
    }, DRAW_MS)
  }
}
