/** Grants: patterns of calls that a person has approved beyond one call. Two patterns are the same if their texts are. */
import type { Owner } from './context.ts'

/** `once`: this call. `session`: this conversation. `always`: all conversations of the person. */
export type GrantScope = 'once' | 'session' | 'always'

export const GRANT_SCOPES: readonly GrantScope[] = ['once', 'session', 'always']

/** Valid for one person only. */
export type Grant = {
  readonly pattern: string
  readonly tenant: string
  readonly actor: string
  /** Milliseconds since 1970. */
  readonly at: number
}

/** Beyond this, the oldest are dropped, and their calls ask again. */
const MAX_GRANTS = 100
/** A longer pattern is not offered. */
export const MAX_PATTERN = 300

/** The grants with these patterns of one person; a pattern that is granted already keeps its place. */
export function withGrants(
  grants: readonly Grant[],
  patterns: readonly string[],
  { tenant, actor, at }: Owner & { readonly at: number },
): readonly Grant[] {
  const known = new Set(patternsOf(grants, { tenant, actor }))
  const added = [...new Set(patterns)].filter((pattern) => !known.has(pattern))
  return [...grants, ...added.map((pattern) => ({ pattern, tenant, actor, at }))].slice(-MAX_GRANTS)
}

/** The grants without these patterns of one person; without all of that person's if no pattern is named. */
export function withoutGrants(
  grants: readonly Grant[],
  owner: Owner,
  patterns?: readonly string[],
): readonly Grant[] {
  return grants.filter(
    (grant) => !isOf(grant, owner) || (patterns !== undefined && !patterns.includes(grant.pattern)),
  )
}

export function patternsOf(grants: readonly Grant[], owner: Owner): readonly string[] {
  return grants.filter((grant) => isOf(grant, owner)).map(({ pattern }) => pattern)
}

/** The patterns that an approval offers to grant. */
export function offeredGrants(about: { readonly grants?: unknown } | undefined): readonly string[] {
  const { grants } = about ?? {}
  return Array.isArray(grants) && grants.every((each) => typeof each === 'string') ? grants : []
}

function isOf(grant: Grant, { tenant, actor }: Owner): boolean {
  return grant.tenant === tenant && grant.actor === actor
}
