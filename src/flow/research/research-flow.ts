/** The research assistant for a host: a message is a question or a reply to a clarification, the reply is the answer. */
import type { JsonObject } from '../../protocol/index.ts'
import type { Store } from '../../store/index.ts'
import type { ResearchOptions } from './config.ts'
import type { ResearchState } from './state.ts'
import { type ResearchGraph, researchAssistant } from './workflow.ts'

export interface ResearchFlow {
  readonly build: (store: Store) => ResearchGraph
  readonly values: (question: string) => JsonObject
  readonly reply: (state: JsonObject) => string | undefined
}

/** `createHost({ store, flows: { research: researchFlow({ corpus }) } })`. */
export function researchFlow(config: Omit<ResearchOptions, 'store'>): ResearchFlow {
  // Wrong options are an error now, not with the first question.
  researchAssistant(config)
  return {
    build: (store) => researchAssistant({ ...config, store }),
    values: (question) => ({ messages: [{ role: 'user', content: question }] }),
    reply: (state) => (state as unknown as ResearchState).final_answer ?? undefined,
  }
}
