/** `holdfast/config`: the types of `holdfast.config.ts`. Only the terminal reads it. */
import type { AgentConfig, Store } from 'holdfast'
import type { A2aOptions } from 'holdfast/a2a'
import type { HostConfig, Trust } from 'holdfast/host'
import type { HttpOptions } from 'holdfast/http'
import type { Corpus, ResearchOptions, WebSearch } from 'holdfast/research'

/** An agent without a conversation: the terminal adds its name, its conversation and the store. */
export interface AgentDefinition
  extends Omit<AgentConfig, 'contextId' | 'store' | 'name' | 'owner' | 'parent' | 'quiet'> {
  /** The callers that the agent answers when it is served. Default: `serve: { trust }`, else `careful`. */
  readonly trust?: Trust
}

export interface HoldfastConfig {
  /** Agents by name: letters, digits, `_`, `.` and `-`. */
  readonly agents: Readonly<Record<string, AgentDefinition>>
  /** The agent to use when none is named; the first by default. */
  readonly default?: string
  /** The store of conversations, instead of `.holdfast/holdfast.db` beside the config. */
  readonly store?: Store | (() => Store)
  /** Options of `holdfast serve`. */
  readonly serve?: ServeConfig
  /** Options of `holdfast research`. */
  readonly research?: ResearchConfig
}

export interface ResearchConfig extends Pick<ResearchOptions, 'agents' | 'topK' | 'minScore' | 'limits'> {
  /** The documents, or a function that opens them. */
  readonly corpus?: Corpus | (() => Corpus | Promise<Corpus>)
  /** Web searches by name, for `--web NAME`; the first is the default. */
  readonly web?: Readonly<Record<string, WebSearch>>
}

/** Other protocols on the server: true, or their options. */
export interface ServeProtocols {
  /** See `a2a()` of `holdfast/a2a`. */
  readonly a2a?: boolean | A2aOptions
}

/** Callers, limits, protocols, and graphs and flows beside the agents. */
export type ServeConfig = Omit<HttpOptions, 'accessLog' | 'onError'> &
  ServeProtocols &
  Pick<
    HostConfig,
    | 'graphs'
    | 'flows'
    | 'trust'
    | 'onRefusal'
    | 'allow'
    | 'onRequest'
    | 'ttlMs'
    | 'maxOpen'
    | 'maxTurns'
    | 'maxWaiting'
    | 'idleMs'
  >

/** Returns its argument; exists for the types. */
export function defineConfig(config: HoldfastConfig): HoldfastConfig {
  return config
}
