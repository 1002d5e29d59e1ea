/** The place in the address of the page: `#/support:4711` is a conversation, `#/new/support` a new one. */
import { useEffect, useState } from 'react'

export type Place =
  | { readonly at: 'home' }
  | { readonly at: 'conversation'; readonly contextId: string }
  | { readonly at: 'new'; readonly name: string }

export function addressOf(contextId: string): string {
  return `#/${encodeURIComponent(contextId)}`
}

/** No id of a conversation has a slash. */
export function newAddress(name: string): string {
  return `#/new/${encodeURIComponent(name)}`
}

function placeOf(hash: string): Place {
  try {
    const path = hash.replace(/^#\/?/, '')
    const name = /^new\/(.+)$/.exec(path)?.[1]
    if (name !== undefined) return { at: 'new', name: decodeURIComponent(name) }
    return path === '' ? { at: 'home' } : { at: 'conversation', contextId: decodeURIComponent(path) }
  } catch {
    return { at: 'home' }
  }
}

export function usePlace(): Place {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const changed = (): void => setHash(location.hash)
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return placeOf(hash)
}
