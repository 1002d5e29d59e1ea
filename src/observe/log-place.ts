/** The conversation and turn of a line in a text log, as one word: `site-7#1`, or `site-7#1[acme/ann]` of another owner. */
import { type ContextKey, LOCAL_OWNER, type Owner } from '../protocol/index.ts'
import { visible } from '../terminal/index.ts'

export function logPlace(key: ContextKey, turn: number): string {
  const { tenant, actor } = namedOwner(key) ?? {}
  const owner = tenant === undefined ? '' : `[${tenant}/${actor}]`
  return visible(`${key.contextId}${turn === 0 ? '' : `#${turn}`}${owner}`)
}

/** The owner, unless it is the local one, which logs do not name. */
export function namedOwner({ tenant, actor }: Owner): Owner | undefined {
  const isLocal = tenant === LOCAL_OWNER.tenant && actor === LOCAL_OWNER.actor
  return isLocal ? undefined : { tenant, actor }
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
