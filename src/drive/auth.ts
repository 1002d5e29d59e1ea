/** The principal of a turn request, and its authorisation (R20). */

import { debugThrown, isPromise, type MaybePromise } from '../base/index.ts'
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
import { forbiddenError } from './refusal.ts'

/**
 * The principal of a turn, and its secrets. Tenant and actor default to the conversation's `owner`, which defaults to
 * `local` of `local`. Only the owner may ask, and principals that `allow` of the config lets in.
 */
export interface Auth {
  readonly tenant?: string
  readonly actor?: string
  readonly scopes?: readonly string[]
  /** Given to tools and nodes in memory, for this turn. Never stored. */
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

/** An `actor` that is present and undefined comes from a failed lookup: it must not pass as the owner. */
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
 * The fields of a turn request that are stored: that there are credentials, and not which. Throws `invalid-option` for
 * a credential that cannot be redacted from the texts of tools and models.
 */
export function requestFields(
  owner: Owner,
  options: {
    readonly auth?: Auth
    readonly limits?: JsonObject
    readonly metadata?: JsonObject
    readonly outputSchema?: JsonObject
  },
): Continuation {
  const { auth, limits, metadata, outputSchema } = options
  if (auth !== undefined) checkAuth(auth)
  if (auth?.credentials !== undefined) redactorOf(auth.credentials)
  return {
    principal: principalOf(owner, auth),
    ...(limits === undefined ? {} : { limits }),
    ...(metadata === undefined ? {} : { metadata: copyJson('metadata', metadata) }),
    ...(auth?.credentials === undefined ? {} : { credentials: true }),
    ...(outputSchema === undefined ? {} : { outputSchema }),
  }
}

/** Throws `forbidden` unless the principal is the owner or `allow` lets it in. */
export function checkAllowed(
  owner: Owner & { readonly contextId: string },
  principal: Principal,
  allow: ((principal: Principal) => boolean) | undefined,
): void {
  const isOwner = principal.tenant === owner.tenant && principal.actor === owner.actor
  if (!isOwner && !isAllowed(principal, allow)) throw forbiddenError(owner.contextId, principal)
}

function isAllowed(principal: Principal, allow: ((principal: Principal) => boolean) | undefined): boolean {
  try {
    const answer: MaybePromise<boolean> | undefined = allow?.(principal)
    // Untyped programs may return 'no'.
    if (!isPromise(answer)) return answer === true
    answer.then(undefined, () => {})
    // A promise is no answer, and would pass for a yes.
    throw new TypeError('it returned a promise. Return true or false')
  } catch (error) {
    debugThrown('The function allow', error)
    throw optionFailed('allow', error)
  }
}
