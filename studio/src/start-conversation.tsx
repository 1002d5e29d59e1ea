/** The choice of an agent, a flow or a graph to talk to. */
import { useId, useState } from 'react'
import { newAddress, type Place } from './address.ts'
import { nameIn } from './conversation-header.tsx'
import type { Names } from './types.ts'
import { visible } from './visible-text.ts'

/** Above the list: a selector if there is a choice, the name alone if there is none. */
export function StartConversation({ names, place }: { readonly names: Names; readonly place: Place }) {
  const [chosen, setChosen] = useState<string>()
  const id = useId()
  const known = [chosen, placeName(place), names.all[0]]
  const name = known.find((each) => each !== undefined && names.all.includes(each))
  if (name === undefined) return <p className="muted empty">There is no agent for you here.</p>
  return (
    <div className="new">
      {names.all.length > 1 ? (
        <div className="field">
          <label htmlFor={id}>Agent or flow</label>
          <select id={id} value={name} onChange={({ target }) => setChosen(target.value)}>
            {names.all.map((each) => (
              <option key={each} value={each}>
                {labelOf(each, names)}
              </option>
            ))}
          </select>
        </div>
      ) : (
        <p className="only">{visible(name)}</p>
      )}
      <button
        type="button"
        className="primary"
        onClick={() => {
          location.hash = newAddress(name)
        }}
      >
        New conversation
      </button>
    </div>
  )
}

interface WelcomeProps {
  readonly names: Names
  /** A name in the address that the server does not have for this caller. */
  readonly unknown: string | undefined
}

export function Welcome({ names, unknown }: WelcomeProps) {
  return (
    <div className="welcome">
      <section aria-labelledby="welcome">
        {unknown !== undefined && (
          <p className="notice warning">This server has no {visible(unknown)} for you.</p>
        )}
        <h2 id="welcome">Begin a conversation</h2>
        <ul>
          {names.all.map((name) => (
            <li key={name}>
              <a className="card" href={newAddress(name)}>
                {labelOf(name, names)}
              </a>
            </li>
          ))}
        </ul>
      </section>
    </div>
  )
}

function labelOf(name: string, { graphs }: Names): string {
  return graphs.includes(name) ? `${visible(name)} (graph)` : visible(name)
}

function placeName(place: Place): string | undefined {
  if (place.at === 'new') return place.name
  return place.at === 'conversation' ? nameIn(place.contextId) : undefined
}
