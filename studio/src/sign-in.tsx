/** Asks for the token of a server that authenticates its callers. */
import { type SubmitEvent, useEffect, useId, useRef, useState } from 'react'

interface SignInProps {
  readonly wasRefused: boolean
  readonly onSignIn: (token: string) => void
  /** Goes on without a token, where the server admits that. */
  readonly onStay: (() => void) | undefined
}

export function SignIn({ wasRefused, onSignIn, onStay }: SignInProps) {
  const [token, setToken] = useState('')
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.focus(), [])
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    if (token.trim() !== '') onSignIn(token.trim())
  }
  return (
    <main className="sign-in">
      <form className="card" onSubmit={submit}>
        <h1>Holdfast</h1>
        <div className="field">
          <label htmlFor={id}>Token or API key</label>
          <input
            id={id}
            ref={field}
            type="password"
            autoComplete="off"
            value={token}
            aria-describedby={`${id}-note`}
            onChange={({ target }) => setToken(target.value)}
          />
          <p className="note" id={`${id}-note`}>
            It is kept until you close this tab.
          </p>
        </div>
        {wasRefused && (
          <p className="error" role="alert">
            The server refused this token.
          </p>
        )}
        <div className="actions">
          <button type="submit" className="primary">
            Sign in
          </button>
          {onStay && (
            <button type="button" onClick={onStay}>
              Go on without signing in
            </button>
          )}
        </div>
      </form>
    </main>
  )
}
