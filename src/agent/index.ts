/** The stateful shell: agents, turns, sub-agents, views and the operator's API. */
export type {
  Auth,
  DriveResult,
  Observer,
  Subscription,
  TurnError,
  TurnOutcome,
  TurnStep,
  TurnView as Turn,
} from '../drive/index.ts'
export { STATE_CONTEXT } from './actor-state.ts'
export { Agent } from './agent.ts'
export type { AgentNodeConfig } from './agent-node.ts'
export { agentNode } from './agent-node.ts'
export type { AgentState } from './agent-state.ts'
export type { AgentToolDefinition } from './agent-tool.ts'
export { agentTool } from './agent-tool.ts'
export type { CancelOptions } from './cancel.ts'
export type { CompactOptions } from './compact.ts'
export type { AgentConfig, WhileBusy } from './config.ts'
export type { ListedGrant } from './grants.ts'
export { GRANTS_CONTEXT, listGrants, revokeGrants } from './grants.ts'
export { pendingCalls } from './message-window.ts'
export type { AppendedMessage, MessageQuery } from './messages.ts'
export { importInto as importContext } from './messages.ts'
export type { MessagesNode } from './messages-node.ts'
export type { ForkOptions, ShutdownOptions } from './method-options.ts'
export type { ModelNodeConfig } from './model-node.ts'
export { modelNode } from './model-node.ts'
export type { StuckConversation, StuckQuery } from './operator.ts'
export { listStuck, settleCall, takeOver } from './operator.ts'
export type { SubAgentConfig } from './run-below.ts'
export type { SessionView } from './session-view.ts'
export type { ToolNodeConfig } from './tool-node.ts'
export { toolNode } from './tool-node.ts'
export type { AnswerOptions, TurnOptions } from './turn-options.ts'
export type { AgentMetadata, ArtifactStore, MessageStore, StateStore, Views } from './views.ts'
export { viewsOf } from './views.ts'
