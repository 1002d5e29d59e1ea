/** Who asks for a turn, and whether they may (R20). */
import type { JsonObject, Owner, Principal } from '../protocol/index.ts'
import { type Credentials, redactorOf } from '../tool/index.ts'
import type { Continuation } from '../turn/index.ts'
import { jsonGiven } from './json-given.ts'
import { notLetIn } from './refusal.ts'

/** Who asks, and with which secrets. What is left out is the owner's. */
export interface Auth {
  readonly tenant?: string
  readonly actor?: string
  readonly scopes?: readonly string[]
  /** For tools and nodes, in memory, for this turn. Never stored (R19). */
  readonly credentials?: Credentials
}

export function principalOf(owner: Owner, { tenant, actor, scopes }: Auth = {}): Principal {
  return {
    tenant: tenant ?? owner.tenant,
    actor: actor ?? owner.actor,
    ...(scopes === undefined ? {} : { scopes: [...scopes] }),
  }
}

/**
 * What is stored of how a turn was asked for: that there are credentials, and not which. Throws `invalid-option` for a
 * credential that could not be found again in what tools and models say.
 */
export function askedFor(
  owner: Owner,
  asking: { readonly auth?: Auth; readonly limits?: JsonObject; readonly metadata?: JsonObject },
): Continuation {
  const { auth, limits, metadata } = asking
  if (auth?.credentials !== undefined) redactorOf(auth.credentials)
  return {
    principal: principalOf(owner, auth),
    ...(limits === undefined ? {} : { limits }),
    ...(metadata === undefined ? {} : { metadata: jsonGiven('metadata', metadata) }),
    ...(auth?.credentials === undefined ? {} : { credentials: true }),
  }
}

/** Throws `forbidden`, unless it is the owner or somebody whom `allow` lets in. */
export function checkLetIn(
  owner: Owner & { readonly contextId: string },
  principal: Principal,
  allow: ((principal: Principal) => boolean) | undefined,
): void {
  const isOwner = principal.tenant === owner.tenant && principal.actor === owner.actor
  if (!isOwner && !allow?.(principal)) throw notLetIn(owner.contextId, principal)
}
