/** The head of a conversation: its agent, its connection, and the buttons of the panels. */
import type { Connection } from './use-conversation.ts'
import { visible } from './visible-text.ts'

export type PanelName = 'timeline' | 'state'

interface HeaderProps {
  readonly contextId: string
  readonly connection: Connection
  readonly panel: PanelName | undefined
  readonly onToggle: (panel: PanelName) => void
}

export function ConversationHeader({ contextId, connection, panel, onToggle }: HeaderProps) {
  return (
    <header className="top">
      <BackLink />
      <div className="who">
        <h2>{visible(nameIn(contextId))}</h2>
        <p className="muted mono">{visible(contextId.slice(contextId.indexOf(':') + 1))}</p>
      </div>
      <output className={`connection ${connection.state}`}>{CONNECTION[connection.state]}</output>
      <button type="button" aria-pressed={panel === 'timeline'} onClick={() => onToggle('timeline')}>
        Timeline
      </button>
      <button type="button" aria-pressed={panel === 'state'} onClick={() => onToggle('state')}>
        State
      </button>
    </header>
  )
}

export function BackLink() {
  return (
    <a className="back" href="#/" aria-label="Back to the list">
      ‹
    </a>
  )
}

const CONNECTION: Readonly<Record<Connection['state'], string>> = {
  missing: 'not found',
  connecting: 'connecting…',
  connected: 'connected',
  reconnecting: 'reconnecting…',
  failed: 'not connected',
}

/** A problem of the connection, and how it is mended. */
export function ConnectionNotice({
  connection,
  onRetry,
}: {
  readonly connection: Connection
  readonly onRetry: () => void
}) {
  const { state } = connection
  if (state === 'connecting' || state === 'connected') return null
  if (state === 'missing')
    return (
      <div className="notice">
        <p>You have no conversation at this address. A message begins one.</p>
      </div>
    )
  return (
    <div className={state === 'failed' ? 'notice error' : 'notice warning'} role="alert">
      <p>
        {state === 'failed'
          ? visible(connection.error.message)
          : 'The connection to the server is lost. The page reconnects by itself, and no message is lost.'}
      </p>
      <button type="button" onClick={onRetry}>
        Try {state === 'failed' ? 'again' : 'now'}
      </button>
    </div>
  )
}

/** The name of the agent, flow or graph in an id. */
export function nameIn(contextId: string): string {
  const colon = contextId.indexOf(':')
  return colon < 0 ? contextId : contextId.slice(0, colon)
}
