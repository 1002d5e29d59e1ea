/** `holdfast/config`: what a `holdfast.config.ts` says. The terminal reads it; nothing else does. */
import type { AgentConfig, Store } from 'holdfast'

/** An agent without a conversation: the terminal says which one, and where it is kept. */
export type AgentDefinition = Omit<AgentConfig, 'contextId' | 'store' | 'name' | 'owner' | 'parent'>

export interface HoldfastConfig {
  /** Agents by name: letters, digits, `_`, `.` and `-`. */
  readonly agents: Readonly<Record<string, AgentDefinition>>
  /** Which one is meant when none is named; the first unless said otherwise. */
  readonly default?: string
  /** Where conversations are kept, instead of `.holdfast/holdfast.db` beside the config. */
  readonly store?: Store | (() => Store)
}

/** Returns what it is given; it is here for the types. */
export function defineConfig(config: HoldfastConfig): HoldfastConfig {
  return config
}
