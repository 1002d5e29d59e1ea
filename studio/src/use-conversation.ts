/** Follows one conversation: its events as a view, and the state of the connection. */
import { ClientError, type ClientEvent, type ConversationClient, type HoldfastClient } from 'holdfast/client'
import { useEffect, useMemo, useState } from 'react'
import { type ConversationView, EMPTY, withEvents } from './conversation-view.ts'

export type Connection =
  /** It has no entries yet: nothing is followed. */
  | { readonly state: 'new' }
  | { readonly state: 'connecting' | 'connected' }
  | { readonly state: 'reconnecting'; readonly retryInMs: number }
  | { readonly state: 'failed'; readonly error: ClientError }

export interface Followed {
  readonly conversation: ConversationClient
  readonly view: ConversationView
  readonly connection: Connection
  readonly kind: 'agent' | 'graph' | undefined
  /** Begins anew: after the first message, or after a failure. */
  readonly follow: () => void
  /** Set if older entries are not shown. */
  readonly earlier: (() => void) | undefined
}

const WINDOW = 1000
/** Events that come together are drawn together. */
const DRAW_MS = 30

export function useConversation(client: HoldfastClient, contextId: string): Followed {
  const conversation = useMemo(() => client.conversation(contextId), [client, contextId])
  const [view, setView] = useState(EMPTY)
  const [connection, setConnection] = useState<Connection>({ state: 'connecting' })
  const [kind, setKind] = useState<Followed['kind']>()
  const [since, setSince] = useState(0)
  const [wanted, setWanted] = useState({ window: WINDOW, times: 0 })
  useEffect(() => {
    const stop = new AbortController()
    const draw = batched((events) => setView((before) => withEvents(before, events)), stop.signal)
    const run = async (): Promise<void> => {
      const { seq, status, kind: found } = await conversation.get()
      if (stop.signal.aborted) return
      const from = Math.max(0, seq - wanted.window)
      setKind(found)
      setSince(from)
      setView({ ...EMPTY, isRunning: from > 0 && status === 'running' })
      for await (const event of conversation.events({ since: from, signal: stop.signal })) {
        if (event.type === 'disconnected')
          setConnection({ state: 'reconnecting', retryInMs: event.retryInMs })
        if (event.type === 'connected') setConnection({ state: 'connected' })
        draw(event)
      }
    }
    run().catch((thrown: unknown) => {
      if (stop.signal.aborted) return
      const error = thrown instanceof ClientError ? thrown : new ClientError(String(thrown))
      setConnection(error.status === 404 ? { state: 'new' } : { state: 'failed', error })
    })
    return () => stop.abort()
  }, [conversation, wanted])
  return {
    conversation,
    view,
    connection,
    kind,
    follow: () => {
      setConnection({ state: 'connecting' })
      setWanted(({ window, times }) => ({ window, times: times + 1 }))
    },
    earlier:
      since > 0 ? () => setWanted(({ window, times }) => ({ window: window + WINDOW, times })) : undefined,
  }
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
