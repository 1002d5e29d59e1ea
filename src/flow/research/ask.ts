/** One question to a research graph, and its answer as plain data. */
import type { GraphEvent, GraphRunOptions } from '../../graph/index.ts'
import { HoldfastError } from '../../protocol/index.ts'
import { outcomeOf } from '../run-flow.ts'
import type { Source } from './findings.ts'
import type { ResearchState } from './state.ts'
import type { ResearchGraph } from './workflow.ts'

export interface ResearchAnswer {
  /** Markdown with citations `[n]`; a question, if `isClarification`. */
  readonly answer: string
  /** The cited sources, by number. */
  readonly sources: readonly Source[]
  /** From 0 to 1; null for a clarification. */
  readonly confidenceScore: number | null
  /** True: the answer asks for something; reply with the same `contextId`. */
  readonly isClarification: boolean
  /** The missing part of the question, and its kind. */
  readonly missingContext: readonly string[]
  readonly messageCount: number
  readonly contextId: string
}

export interface AskOptions extends GraphRunOptions {
  /** Called with each event of the run. If it throws or rejects, the process warns once, and the run goes on. */
  readonly onEvent?: (event: GraphEvent) => unknown
}

/** Rejects if the run fails or reaches a limit; `research.invoke(null, { contextId })` goes on. */
export async function askResearch(
  research: ResearchGraph,
  question: string,
  options: AskOptions = {},
): Promise<ResearchAnswer> {
  if (typeof question !== 'string' || question.trim() === '')
    throw new HoldfastError('invalid-option', {
      message: 'The question is empty. Write what you want to know.',
    })
  const { onEvent, ...where } = options
  const run = research.stream({ messages: [{ role: 'user', content: question }] }, where)
  const outcome = await outcomeOf(run, onEvent)
  if (outcome.status === 'completed' && outcome.limit === undefined)
    return answerOf(outcome.state, run.contextId)
  const { limit, error, reason } = outcome
  const why =
    limit === undefined ? (error?.message ?? `It was ${reason}.`) : `The limit on ${limit} was reached.`
  throw new HoldfastError(limit === undefined ? 'node-failed' : 'limit-reached', {
    message: `The question was not answered. ${why}`,
    details: { contextId: run.contextId },
    cause: outcome.cause,
  })
}

/** The answer that a state holds. */
export function answerOf(state: ResearchState, contextId: string): ResearchAnswer {
  const { final_answer, context, confidence_score, clarification_needed, missing_context, messages } = state
  return {
    answer: final_answer ?? '',
    sources: clarification_needed ? [] : (context.sources ?? []),
    confidenceScore: confidence_score,
    isClarification: clarification_needed,
    missingContext: missing_context,
    messageCount: messages.length,
    contextId,
  }
}
