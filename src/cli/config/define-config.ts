/** `holdfast/config`: the types of `holdfast.config.ts`. Only the terminal reads it. */
import type { AgentConfig, Store } from 'holdfast'

/** An agent without a conversation: the terminal adds its name, its conversation and the store. */
export type AgentDefinition = Omit<AgentConfig, 'contextId' | 'store' | 'name' | 'owner' | 'parent' | 'quiet'>

export interface HoldfastConfig {
  /** Agents by name: letters, digits, `_`, `.` and `-`. */
  readonly agents: Readonly<Record<string, AgentDefinition>>
  /** The agent to use when none is named; the first by default. */
  readonly default?: string
  /** The store of conversations, instead of `.holdfast/holdfast.db` beside the config. */
  readonly store?: Store | (() => Store)
}

/** Returns its argument; exists for the types. */
export function defineConfig(config: HoldfastConfig): HoldfastConfig {
  return config
}
