/** `holdfast/host`: agents and graphs by name, for programs that serve them. */
export type { Documents, DocumentWrite, HostDocument } from './documents.ts'
export type { EmbeddedEngineOptions, Engine, EnginePort } from './engine.ts'
export { embeddedEngine } from './engine.ts'
export type { EventsOptions, HostEvent } from './events.ts'
export type { AgentSession, Host, HostConfig, HostShutdownOptions } from './host.ts'
export { createHost } from './host.ts'
export type {
  HostedAgent,
  HostedAgentConfig,
  HostedFlow,
  HostedGraph,
  HostedTurn,
  HostInput,
  HostOutcome,
  HostSession,
  SendOptions,
  SessionAgentConfig,
} from './hosted.ts'
export type { TakenDelta } from './pending-deltas.ts'
export type {
  ConversationInfo,
  ConversationPage,
  HostReads,
  ListConversations,
  RequestNotice,
} from './reads.ts'
export type { Refusal } from './refusals.ts'
export type { Trust, TrustDecision, TrustLevel, TrustPolicy, TrustRequest } from './trust.ts'
export { isVisitor, VISITORS } from './trust.ts'
export type { TrustAgent } from './trust-agent.ts'
export type { Webhook, WebhookFailure, WebhookOptions } from './webhook.ts'
export { webhook } from './webhook.ts'
