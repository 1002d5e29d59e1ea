/** The page: the list beside the chosen conversation, and a form for a token where the server needs one. */
import { useCallback, useEffect, useState } from 'react'
import { type Place, usePlace } from './address.ts'
import { Conversation } from './conversation.tsx'
import { nameIn } from './conversation-header.tsx'
import { ConversationList } from './conversation-list.tsx'
import { NewConversation } from './new-conversation.tsx'
import { SignIn } from './sign-in.tsx'
import { StartConversation, Welcome } from './start-conversation.tsx'
import { ThemeToggle } from './theme.tsx'
import type { Names } from './types.ts'
import { type Session, useSession } from './use-session.ts'
import { visible } from './visible-text.ts'

export function App() {
  const session = useSession()
  const { hasToken, admitsVisitors, refusal, signIn } = session
  const [isSigningIn, setSigningIn] = useState(false)
  const isRefused = refusal?.status === 401
  // Conversations belong to their caller: another one begins at the list.
  const leave = (): void => {
    location.hash = '#/'
  }
  const begin = (): void => {
    leave()
    setSigningIn(true)
  }
  const signOut = (): void => {
    leave()
    signIn()
  }
  if (!isRefused && !isSigningIn) return <Main session={session} onSignIn={begin} onSignOut={signOut} />
  const stay = (): void => {
    setSigningIn(false)
    if (hasToken) signIn()
  }
  return (
    <SignIn
      wasRefused={isRefused && hasToken}
      onSignIn={(token) => {
        setSigningIn(false)
        signIn(token)
      }}
      onStay={admitsVisitors ? stay : undefined}
    />
  )
}

interface MainProps {
  readonly session: Session
  readonly onSignIn: () => void
  readonly onSignOut: () => void
}

function Main({ session, onSignIn, onSignOut }: MainProps) {
  const { client, names } = session
  const place = usePlace()
  const [activity, setActivity] = useState(0)
  const active = useCallback(() => setActivity((before) => before + 1), [])
  useTitle(place)
  return (
    <div className={place.at === 'home' ? 'app' : 'app talking'}>
      <div className="side">
        <Brand session={session} onSignIn={onSignIn} onSignOut={onSignOut} />
        <Refusal session={session} />
        {names !== undefined && (
          <ConversationList
            client={client}
            current={place.at === 'conversation' ? place.contextId : undefined}
            stale={activity}
          >
            <StartConversation names={names} place={place} />
          </ConversationList>
        )}
      </div>
      <main>
        {names === undefined ? (
          <div className="welcome">
            <output className="muted">Connecting…</output>
          </div>
        ) : (
          <Shown session={session} names={names} place={place} onActivity={active} />
        )}
      </main>
    </div>
  )
}

interface ShownProps {
  readonly session: Session
  readonly names: Names
  readonly place: Place
  readonly onActivity: () => void
}

function Shown({ session: { client }, names, place, onActivity }: ShownProps) {
  if (place.at === 'conversation')
    return (
      <Conversation
        key={place.contextId}
        client={client}
        contextId={place.contextId}
        names={names}
        onActivity={onActivity}
      />
    )
  // Where there is no choice, the visitor can write at once.
  const [first, ...others] = names.all
  const name = place.at === 'new' ? place.name : others.length === 0 ? first : undefined
  if (name === undefined || !names.all.includes(name))
    return <Welcome names={names} unknown={place.at === 'new' ? place.name : undefined} />
  return <NewConversation key={name} client={client} name={name} isGraph={names.graphs.includes(name)} />
}

function Brand({ session: { hasToken, admitsVisitors }, onSignIn, onSignOut }: MainProps) {
  return (
    <div className="brand">
      <h1>
        <a href="#/">Holdfast</a>
      </h1>
      {hasToken && (
        <button type="button" className="quiet" onClick={onSignOut}>
          Sign out
        </button>
      )}
      {!hasToken && admitsVisitors && (
        <button type="button" className="quiet" onClick={onSignIn}>
          Sign in
        </button>
      )}
      <ThemeToggle />
    </div>
  )
}

function Refusal({ session: { refusal, retry } }: { readonly session: Session }) {
  if (refusal === undefined) return null
  return (
    <div className="notice error" role="alert">
      <p>
        {visible(refusal.message)}
        {refusal.isTransient && ' The page tries again by itself.'}
      </p>
      <button type="button" onClick={retry}>
        Try again
      </button>
    </div>
  )
}

/** Tabs and bookmarks are told apart by the name of the agent. */
function useTitle(place: Place): void {
  const name = place.at === 'new' ? place.name : place.at === 'conversation' ? nameIn(place.contextId) : ''
  useEffect(() => {
    document.title = name === '' ? 'Holdfast' : `${visible(name)} · Holdfast`
  }, [name])
}
