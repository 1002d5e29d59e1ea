/** Resolves names to an agent: which one, with which model, in which conversation. */
import { Agent, type Store } from 'holdfast'
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

export function agentFor({ name, definition, choice }: ReadyAgent, id: string, store: Store): Agent {
  const { contextId } = keyOf({ agent: name, id })
  return new Agent({ ...definition, model: choice.model, name, contextId, store })
}
