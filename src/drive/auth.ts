/** Who asks for a turn, and whether they may (R20). */

import { debugThrown } from '../base/index.ts'
import { type Continuation, optionFailed } from '../loop/index.ts'
import {
  checkOptions,
  invalidOption,
  type JsonObject,
  type OptionSet,
  type Owner,
  type Principal,
  shown,
} from '../protocol/index.ts'
import { type Credentials, redactorOf } from '../tool/index.ts'
import { copyJson } from './copy-json.ts'
import { notLetIn } from './refusal.ts'

/**
 * Who asks, and with which secrets. Tenant and actor that are left out are the owner's: `owner` of the config says who
 * that is, `local` of `local` if it does not. Only the owner may ask, and those whom `allow` of the config lets in.
 */
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

const AUTH: OptionSet<Auth> = {
  place: 'auth',
  options: { tenant: null, actor: null, scopes: 'a list', credentials: null },
  foreign: {
    ...Object.fromEntries(['actorId', 'userId', 'user', 'id', 'sub'].map((name) => [name, 'actor'])),
    tenantId: 'tenant',
    organization: 'tenant',
    roles: 'scopes',
    permissions: 'scopes',
    ...Object.fromEntries(
      ['token', 'accessToken', 'refreshToken', 'apiKey'].map((name) => [name, `credentials: { ${name} }`]),
    ),
  },
}

/** An actor that is there and undefined comes from a lookup that failed: it must not ask as the owner. */
function checkAuth(auth: Auth): void {
  checkOptions(auth, AUTH)
  for (const name of ['tenant', 'actor'] as const) {
    const value: unknown = auth[name]
    if (name in auth && (typeof value !== 'string' || value === ''))
      throw invalidOption(
        `auth.${name}`,
        `must be a text, not ${shown(value)}; leave it out to ask as the owner`,
      )
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
  if (auth !== undefined) checkAuth(auth)
  if (auth?.credentials !== undefined) redactorOf(auth.credentials)
  return {
    principal: principalOf(owner, auth),
    ...(limits === undefined ? {} : { limits }),
    ...(metadata === undefined ? {} : { metadata: copyJson('metadata', metadata) }),
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
  if (!isOwner && !isAllowed(principal, allow)) throw notLetIn(owner.contextId, principal)
}

function isAllowed(
  principal: Principal,
  allow: ((principal: Principal) => boolean) | undefined,
): boolean | undefined {
  try {
    return allow?.(principal)
  } catch (error) {
    debugThrown('The function allow', error)
    throw optionFailed('allow', error)
  }
}
