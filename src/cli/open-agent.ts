/** Resolves names to an agent: which one, with which model, in which conversation. */
import { Agent, type Store } from 'holdfast'
import type { Plugin } from 'holdfast/plugins'
import { checkModel, chooseModel, type ModelChoice } from './config/choose-model.ts'
import type { AgentDefinition } from './config/define-config.ts'
import { keyOf } from './names.ts'
import type { Workspace } from './workspace.ts'

/** An agent whose config and model were checked, without a write. */
export interface ReadyAgent {
  readonly name: string
  readonly definition: AgentDefinition
  readonly choice: ModelChoice
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
  const { name, definition } = workspace.agent(agent)
  const choice = chooseModel({ option: model, agent: definition, env })
  await checkModel(choice, definition)
  return { name, definition, choice }
}

export interface OpenAgentOptions {
  readonly store: Store
  /** In addition to those of the agent. */
  readonly plugins?: readonly Plugin[]
}

export function agentFor(
  { name, definition, choice }: ReadyAgent,
  id: string,
  { store, plugins = [] }: OpenAgentOptions,
): Agent {
  const { contextId } = keyOf({ agent: name, id })
  const all = [...(definition.plugins ?? []), ...plugins]
  return new Agent({ ...definition, plugins: all, model: choice.model, name, contextId, store })
}
