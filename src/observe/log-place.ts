/** The conversation and turn of a line in a text log, as one word: `site-7#1`, or `site-7#1[acme/ann]` of another owner. */
import { type ContextKey, LOCAL_OWNER } from '../protocol/index.ts'
import { visible } from '../terminal/index.ts'

export function logPlace({ tenant, actor, contextId }: ContextKey, turn: number): string {
  const isLocal = tenant === LOCAL_OWNER.tenant && actor === LOCAL_OWNER.actor
  const owner = isLocal ? '' : `[${tenant}/${actor}]`
  return visible(`${contextId}${turn === 0 ? '' : `#${turn}`}${owner}`)
}

/** Names have none of the characters `#`, `[`, `]`, and those of owners no `/`. */
const PLACE = /^([^#[\]]+)(?:#\d+)?(?:\[([^/]+)\/([^/]+)\])?$/

/** A character that `visible` has escaped: names have no `<`. */
const ESCAPED = /<U\+((?:10|[0-9A-F])?[0-9A-F]{4})>/g

/** The conversation of a place, whose names may be no valid ones; undefined for a word that is none. */
export function keyOfPlace(place: string): ContextKey | undefined {
  const name = place.replaceAll(ESCAPED, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)))
  const [, contextId, tenant = LOCAL_OWNER.tenant, actor = LOCAL_OWNER.actor] = PLACE.exec(name) ?? []
  return contextId === undefined ? undefined : { tenant, actor, contextId }
}
