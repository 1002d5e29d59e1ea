/** The research assistant: questions to documents and the web, answered with checked citations. */
export type { AskOptions, ResearchAnswer } from './ask.ts'
export { answerOf, askResearch } from './ask.ts'
export { BaseAgent } from './base-agent.ts'
export { ClarificationAgent } from './clarification.ts'
export type {
  AgentOptions,
  OrchestratorOptions,
  ResearchAgentOptions,
  ResearchModel,
  ResearchOptions,
  ResearchPrompt,
  SynthesisOptions,
} from './config.ts'
export type { CheckedClaim, ClaimVerdict, PdfResult, ResearchContext, Source, WebResult } from './findings.ts'
export { MasterOrchestrator } from './orchestrator.ts'
export { ResearchAgent } from './research-agent.ts'
export type { ResearchFlow } from './research-flow.ts'
export { researchFlow } from './research-flow.ts'
export type { ResearchChannels, ResearchState, ResearchUpdate } from './state.ts'
export { formatHistory, initialState, RESEARCH_CHANNELS } from './state.ts'
export { SynthesisAgent } from './synthesis.ts'
export type { ResearchGraph, ResearchNode, WorkflowAgents } from './workflow.ts'
export { AgentWorkflow, researchAssistant, researchNodes } from './workflow.ts'
