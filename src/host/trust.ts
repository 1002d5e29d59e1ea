/**
 * Trust: who may talk to an agent, which of its tools unknown callers may use, and which remote agents it may call.
 *
 * T1  Rules come first, then the policy of the config. Both have to admit, and a policy that fails refuses.
 * T2  An unknown caller gets public tools only, and is asked wherever a tool asks: no rule and no grant answers for them.
 * T3  The decision about a turn that begins is stored with its input. A refusal stores nothing; it goes to the host's log.
 */
import type { PluginParts } from '../hook/index.ts'
import {
  checkOptions,
  HoldfastError,
  invalidOption,
  type JsonObject,
  type OptionSet,
  type Principal,
  quote,
  shown,
} from '../protocol/index.ts'
import type { Approvals, PolicyCall, PolicyDecision } from '../tool/index.ts'
import { askTrustAgent, type TrustAgent } from './trust-agent.ts'

/**
 * `open`: everybody. `careful`: known callers as they are, unknown ones only if the agent is public. `strict`: listed callers
 * and listed remote agents only.
 */
export type TrustLevel = 'open' | 'careful' | 'strict'

export interface TrustPolicy {
  /** Default: `careful`. */
  readonly level?: TrustLevel
  /** Unknown callers may talk to the agent, and use its tools that are `public`. Default: false. */
  readonly public?: boolean
  /** The listed callers. Without `actor`: everybody of the tenant. */
  readonly principals?: readonly { readonly tenant: string; readonly actor?: string }[]
  /** The listed remote agents, by the beginnings of their addresses. */
  readonly remotes?: readonly string[]
  /** Asked after the rules have admitted: a function, or a model with instructions. If it fails, the answer is no. */
  readonly decide?: ((request: TrustRequest) => boolean | Promise<boolean>) | TrustAgent
}

export type Trust = TrustLevel | TrustPolicy

/** The beginning of a turn, or a call of a remote agent. */
export interface TrustRequest {
  readonly kind: 'turn' | 'remote'
  /** The name of the agent, graph or flow. */
  readonly name: string
  readonly contextId: string
  readonly principal: Principal
  /** False for a caller who was not authenticated. */
  readonly isKnown: boolean
  /** Of `remote`. */
  readonly url?: string
}

export interface TrustDecision {
  readonly isAllowed: boolean
  /** As stored. */
  readonly record: JsonObject
  /** Of a refusal, for the caller. */
  readonly reason?: string
}

/** The tenant of callers who were not authenticated. No token may have it. */
export const VISITORS = 'visitors'

export function isVisitor({ tenant }: Pick<Principal, 'tenant'>): boolean {
  return tenant === VISITORS
}

const POLICY: OptionSet<TrustPolicy> = {
  place: 'trust',
  options: {
    level: ['open', 'careful', 'strict'],
    public: 'true or false',
    principals: 'a list',
    remotes: 'a list',
    decide: null,
  },
  foreign: { allow: 'principals', allowlist: 'principals', policy: 'decide' },
}

export class TrustRules {
  readonly #policy: TrustPolicy
  readonly level: TrustLevel

  constructor(trust: Trust = 'careful') {
    if (typeof trust === 'string' && !LEVELS.includes(trust))
      throw new HoldfastError('invalid-option', {
        message: `trust must be 'open', 'careful', 'strict' or an object, not ${shown(trust)}.`,
      })
    this.#policy = typeof trust === 'string' ? { level: trust } : trust
    checkOptions(this.#policy, POLICY)
    this.level = this.#policy.level ?? 'careful'
    const { decide } = this.#policy
    const isAgent = typeof decide === 'object' && typeof decide.system === 'string' && 'model' in decide
    if (decide !== undefined && typeof decide !== 'function' && !isAgent)
      throw new HoldfastError('invalid-option', {
        message: `trust.decide must be a function or { model, system }, not ${shown(decide)}.`,
      })
    checkLists(this.#policy, this.level)
  }

  /** True if some caller who is not authenticated may talk to the agent. */
  get admitsVisitors(): boolean {
    return this.level === 'open' || (this.level === 'careful' && this.#policy.public === true)
  }

  /** Those of an agent's tools that callers who are not authenticated may use. */
  forVisitors<T extends { readonly public?: boolean }>(tools: readonly T[]): readonly T[] {
    if (this.level === 'open') return tools
    return this.admitsVisitors ? tools.filter((tool) => tool.public === true) : []
  }

  /** False if the rules refuse the turns of a caller; the policy is not asked. */
  mayAdmit(name: string, principal: Principal): boolean {
    const isKnown = !isVisitor(principal)
    return this.#refusedTurn({ kind: 'turn', name, contextId: '', principal, isKnown }) === undefined
  }

  async decide(request: TrustRequest): Promise<TrustDecision> {
    const reason = request.kind === 'turn' ? this.#refusedTurn(request) : this.#refusedRemote(request)
    const record = { level: this.level, known: request.isKnown }
    if (reason !== undefined) return { isAllowed: false, record: { ...record, by: 'rules' }, reason }
    const { decide } = this.#policy
    if (decide === undefined) return { isAllowed: true, record: { ...record, by: 'rules' } }
    const isAllowed = await admits(decide, request)
    const refusal = { reason: 'The policy of the agent refuses you.' }
    return { isAllowed, record: { ...record, by: 'policy' }, ...(isAllowed ? {} : refusal) }
  }

  /** The plugin that keeps these rules for the tools of an agent. */
  plugin(name: string): PluginParts {
    return { name: 'trust', approve: (call) => this.#judge(name, call) }
  }

  /** The same for the calls of a graph. */
  approvals(name: string): Approvals {
    const policies = [{ name: 'trust', decide: (call: PolicyCall) => this.#judge(name, call) }]
    return { policies, granted: async () => [] }
  }

  #refusedTurn({ name, principal, isKnown }: TrustRequest): string | undefined {
    if (this.level === 'open') return undefined
    if (this.level === 'strict')
      return this.#isListed(principal) ? undefined : `${quote(name)} answers listed callers only.`
    return isKnown || this.#policy.public ? undefined : `${quote(name)} answers known callers only.`
  }

  #refusedRemote({ url = '' }: TrustRequest): string | undefined {
    if (this.level !== 'strict') return undefined
    const isListed = this.#policy.remotes?.some((start) => startsAt(url, remoteStart(start)))
    return isListed ? undefined : `${url} is not among the remote agents in trust.remotes.`
  }

  #isListed({ tenant, actor }: Principal): boolean {
    const { principals = [] } = this.#policy
    return principals.some((each) => each.tenant === tenant && (each.actor ?? actor) === actor)
  }

  async #judge(name: string, call: PolicyCall): Promise<PolicyDecision | undefined> {
    const { principal, origin, isPublic, asks, contextId } = call
    const isKnown = !isVisitor(principal)
    if (origin?.kind === 'a2a') {
      const request = { kind: 'remote', name, contextId, principal, isKnown, url: origin.url } as const
      const { isAllowed, reason } = await this.decide(request)
      if (!isAllowed) return { decision: 'deny', ...(reason === undefined ? {} : { reason }) }
    }
    if (isKnown || this.level === 'open') return undefined
    if (!isPublic) return { decision: 'deny', reason: 'It is not for unknown callers' }
    return asks ? { decision: 'ask' } : undefined
  }
}

/** A list that does not count would let in everybody whom it leaves out. */
function checkLists({ principals, remotes }: TrustPolicy, level: TrustLevel): void {
  for (const [at, principal] of (principals ?? []).entries()) {
    const place = `trust.principals[${at}]`
    checkOptions(principal, { place, options: { tenant: 'a text', actor: 'a text' } })
    if (principal.tenant === undefined) throw invalidOption(place, 'needs a tenant: { tenant, actor }')
  }
  for (const address of remotes ?? []) remoteStart(address)
  for (const [name, list] of Object.entries({ principals, remotes }))
    if (list !== undefined && level !== 'strict')
      throw invalidOption(`trust.${name}`, `counts only with level: 'strict'; at '${level}' nobody reads it`)
}

const LEVELS: readonly unknown[] = ['open', 'careful', 'strict']

async function admits(decide: NonNullable<TrustPolicy['decide']>, request: TrustRequest): Promise<boolean> {
  try {
    const answer: unknown = await (typeof decide === 'function'
      ? decide(request)
      : askTrustAgent(decide, request))
    return answer === true
  } catch {
    return false
  }
}

function remoteStart(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url
  throw new HoldfastError('invalid-option', {
    message: `trust.remotes: ${quote(address)} is no address. Write it as https://agents.example/team`,
  })
}

/** The same origin, and a path at or below the other one. */
function startsAt(address: string, start: URL): boolean {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url === undefined || url.origin !== start.origin) return false
  const folder = start.pathname.endsWith('/') ? start.pathname : `${start.pathname}/`
  return url.pathname === start.pathname || url.pathname.startsWith(folder)
}
