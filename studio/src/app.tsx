/** The page: asks for a token if the server needs one, then shows the list and the chosen conversation. */
import { ClientError, createClient, type HoldfastClient } from 'holdfast/client'
import { useCallback, useEffect, useMemo, useState } from 'react'
import { Conversation } from './conversation.tsx'
import { addressOf, ConversationList } from './conversation-list.tsx'
import { SignIn } from './sign-in.tsx'
import { ThemeToggle } from './theme.tsx'
import type { Names } from './types.ts'
import { visible } from './visible-text.ts'

const TOKEN = 'holdfast-token'
const VISITOR = 'holdfast-visitor'

/** The key of a visitor, for as long as the tab is open. */
function visitorKey(): string {
  const known = sessionStorage.getItem(VISITOR)
  if (known !== null) return known
  const bytes = Array.from(crypto.getRandomValues(new Uint8Array(24)))
  const made = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
  sessionStorage.setItem(VISITOR, made)
  return made
}

export function App() {
  const [token, setToken] = useState(() => sessionStorage.getItem(TOKEN) ?? '')
  const [times, setTimes] = useState(0)
  const client = useMemo(
    () =>
      createClient({
        url: new URL('.', location.href).href,
        ...(token === '' ? { visitorKey: visitorKey() } : { token }),
      }),
    [token],
  )
  const { names, refusal } = useNames(client, times)
  const signIn = (given: string): void => {
    if (given === '') sessionStorage.removeItem(TOKEN)
    else sessionStorage.setItem(TOKEN, given)
    setToken(given)
    setTimes(times + 1)
  }
  const again = useCallback(() => setTimes((before) => before + 1), [])
  if (refusal?.status === 401) return <SignIn wasRefused={token !== ''} onSignIn={signIn} />
  return (
    <Main
      client={client}
      names={names}
      refusal={refusal}
      onRetry={again}
      onSignOut={token === '' ? undefined : () => signIn('')}
    />
  )
}

function useNames(client: HoldfastClient, times: number) {
  const [names, setNames] = useState<Names>({ agents: [], graphs: [] })
  const [refusal, setRefusal] = useState<ClientError>()
  useEffect(() => {
    let isOver = false
    const read = async (): Promise<void> => {
      const [agents, graphs] = await Promise.all([client.agents(), client.graphs()])
      if (isOver) return
      setNames({ agents: [...agents, ...graphs], graphs })
      setRefusal(undefined)
    }
    read().catch((error: unknown) => {
      if (!isOver) setRefusal(asClientError(error))
    })
    return () => {
      isOver = true
    }
  }, [client, times])
  return { names, refusal }
}

interface MainProps {
  readonly client: HoldfastClient
  readonly names: Names
  readonly refusal: ClientError | undefined
  readonly onRetry: () => void
  readonly onSignOut: (() => void) | undefined
}

function Main({ client, names, refusal, onRetry, onSignOut }: MainProps) {
  const contextId = useContextId()
  const [activity, setActivity] = useState(0)
  const active = useCallback(() => setActivity((before) => before + 1), [])
  const [problem, setProblem] = useState<ClientError>()
  const begin = (name: string): void => {
    const create = async (): Promise<void> => {
      location.hash = addressOf((await client.create(name)).contextId)
      setProblem(undefined)
    }
    create().catch((error: unknown) => setProblem(asClientError(error)))
  }
  const shown = refusal ?? problem
  return (
    <div className={contextId === undefined ? 'app' : 'app talking'}>
      <div className="side">
        <div className="brand">
          <h1>Holdfast</h1>
          {onSignOut && (
            <button type="button" className="quiet" onClick={onSignOut}>
              Sign out
            </button>
          )}
          <ThemeToggle />
        </div>
        {shown !== undefined && (
          <div className="notice error" role="alert">
            <p>{visible(shown.message)}</p>
            <button type="button" onClick={onRetry}>
              Try again
            </button>
          </div>
        )}
        <ConversationList
          client={client}
          names={names.agents}
          current={contextId}
          stale={activity}
          onNew={begin}
        />
      </div>
      <main>
        {contextId === undefined ? (
          <div className="welcome">
            <p>Choose a conversation, or begin a new one.</p>
          </div>
        ) : (
          <Conversation
            key={contextId}
            client={client}
            contextId={contextId}
            names={names}
            onActivity={active}
            onUnauthorized={onRetry}
          />
        )}
      </main>
    </div>
  )
}

/** The conversation in the address: `#/support:4711`. */
function useContextId(): string | undefined {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const changed = (): void => setHash(location.hash)
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  try {
    const id = decodeURIComponent(hash.replace(/^#\/?/, ''))
    return id === '' ? undefined : id
  } catch {
    return undefined
  }
}

function asClientError(error: unknown): ClientError {
  return error instanceof ClientError ? error : new ClientError(String(error))
}
