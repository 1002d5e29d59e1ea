/** Resolves names to an agent: which one, with which model, in which conversation. */
import { join } from 'node:path'
import { Agent, type Store } from 'holdfast'
import type { HostedAgentConfig } from 'holdfast/host'
import type { LogOptions } from 'holdfast/observe'
import type { Plugin } from 'holdfast/plugins'
import { checkModel, chooseModel, definitionFor, type ModelChoice } from './config/choose-model.ts'
import type { AgentDefinition } from './config/define-config.ts'
import { type McpTools, withMcp } from './mcp-tools.ts'
import { keyOf } from './names.ts'
import { unusable } from './refusal.ts'
import type { Workspace } from './workspace.ts'

/** An agent whose config and model were checked, without a write. */
export interface ReadyAgent {
  readonly name: string
  readonly definition: AgentDefinition
  readonly choice: ModelChoice
  /** False: the model follows rules, as reflex does. */
  readonly writesText: boolean
  /** The folder of conversations, and of logs. */
  readonly folder: string
  readonly mcp?: McpTools | undefined
}

export interface ReadyAgentOptions {
  readonly agent?: string | undefined
  readonly model?: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
}

export async function readyAgent(
  workspace: Workspace,
  { agent, model, env }: ReadyAgentOptions,
): Promise<ReadyAgent> {
  const { name, definition: configured } = workspace.agent(agent)
  const choice = chooseModel({ option: model, agent: configured, env })
  const definition = definitionFor(choice, configured)
  const { capabilities } = await checkModel(choice, definition)
  const writesText = capabilities?.freeText !== false
  return { name, definition, choice, writesText, folder: workspace.folder, mcp: workspace.mcp }
}

/** Throws if the model could not plan a task. */
export function checkLanguageModel({ choice, writesText }: ReadyAgent): void {
  if (writesText) return
  const why = choice.why ?? 'works by rules; name a language model: --model openai/gpt-4.1-mini'
  throw unusable(`reflex cannot plan a task: it ${why}.`)
}

export interface OpenAgentOptions {
  readonly store: Store
  /** In addition to those of the agent. */
  readonly plugins?: readonly Plugin[]
}

/** The agent without output of its own: the terminal prints its turns. */
export function agentFor(ready: ReadyAgent, id: string, { store, plugins = [] }: OpenAgentOptions): Agent {
  const { contextId } = keyOf({ agent: ready.name, id })
  const { trust: _, ...config } = hostedConfig(ready, store)
  return new Agent({ ...config, plugins: [...(config.plugins ?? []), ...plugins], contextId, store })
}

/** The agent without a conversation, for a host. */
export function hostedConfig(
  { name, definition, choice, folder, mcp }: ReadyAgent,
  store: Store,
): HostedAgentConfig {
  const log = logIn(join(folder, 'logs'), definition.log, store)
  const sessions = logIn(join(folder, 'sessions'), definition.sessions, store)
  return { ...withMcp(definition, mcp), model: choice.model, name, quiet: true, log, sessions }
}

/** The option of the definition, with the folder as its default. */
function logIn(folder: string, option: AgentDefinition['log'], store: Store): boolean | LogOptions {
  if (option === false || (option === undefined && store.path === undefined)) return false
  return typeof option === 'object' ? { folder, ...option } : { folder }
}
