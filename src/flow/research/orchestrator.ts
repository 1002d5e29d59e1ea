/** The orchestrator: decides whether a question is researched or asked back. The counter, then the rule, then the model. */
import type { NodeContext } from '../../graph/index.ts'
import { checkOptions } from '../../protocol/index.ts'
import { BaseAgent } from './base-agent.ts'
import { callModel, programMessage } from './call-model.ts'
import { type ModelUse, modelUse, ORCHESTRATOR, type OrchestratorOptions } from './config.ts'
import { pendingTexts, type Question, questionOf } from './question.ts'
import { answerBefore, conversationText, type ResearchState, type ResearchUpdate, textOf } from './state.ts'
import { textsIn } from './texts.ts'
import { isHelpfulReply, MISSING_KINDS, missingIn, missingText } from './vagueness.ts'
import { contentStems, isContentWord, languageOf, tokensOf } from './words.ts'

export class MasterOrchestrator extends BaseAgent {
  readonly #use: ModelUse
  readonly #maxClarifications: number

  constructor(options: OrchestratorOptions = {}) {
    super('orchestrator')
    checkOptions(options, ORCHESTRATOR)
    this.#use = modelUse(options, { name: 'orchestrator', temperature: 0.3 })
    this.#maxClarifications = options.maxClarifications ?? 2
  }

  override async run(state: ResearchState, context: NodeContext): Promise<ResearchUpdate> {
    const missing = await this.#missing(state, context)
    const { session_id, last_agent } = state
    // A question that was cut short before it was asked back has no clarifications.
    const asked = last_agent === 'clarification' ? state.clarification_count : 0
    const question = questionOf(state)
    const isForced = missing.length > 0 && asked >= this.#maxClarifications
    const isAsked = missing.length > 0 && !isForced
    return {
      ...(session_id === '' ? { session_id: context.contextId } : {}),
      next_agent: isAsked ? 'clarification' : 'research',
      last_agent: 'orchestrator',
      clarification_needed: isAsked,
      clarification_count: isAsked ? asked + 1 : 0,
      missing_context: isAsked ? missing : [],
      context: {
        ...NOTHING_YET,
        ...question,
        answer_before: answerBefore(state),
        assumption: isForced ? assumptionOf(question, missing) : null,
      },
      iteration: 1,
      final_answer: null,
      confidence_score: null,
    }
  }

  /** The parts to ask for first; none if the question can be researched. */
  async #missing(state: ResearchState, context: NodeContext): Promise<readonly string[]> {
    const isReply = state.last_agent === 'clarification'
    const [question = '', ...replies] = pendingTexts(state)
    const reply = replies.at(-1)
    if (isReply && reply !== undefined) {
      const before = [question, ...replies.slice(0, -1)].join(' ')
      if (isHelpfulReply(reply, before)) return []
      // The bound needs no model, and an empty reply no second opinion.
      return state.missing_context.length > 0 ? state.missing_context : ['missing context: the topic']
    }
    const isByRules = this.#use.model === undefined || this.#maxClarifications === 0
    return isByRules ? byRules(state) : this.#askModel(state, context)
  }

  async #askModel(state: ResearchState, context: NodeContext): Promise<readonly string[]> {
    const { maxHistory } = this.#use
    const [question = ''] = pendingTexts(state)
    const text = `${conversationText(state, maxHistory)}\n\n# Newest question\n${question}`
    const reply = await callModel(this.#use, { key: 'decision', messages: [programMessage(text)] }, context)
    return reply instanceof Error ? [] : decisionIn(textOf(reply), question)
  }
}

const NOTHING_YET = {
  observations: [],
  tool_history: [],
  pdf_results: [],
  web_results: [],
  final_output: '',
  sources: [],
  claims: [],
  invented: [],
  conflicts: [],
}

function byRules(state: ResearchState): readonly string[] {
  const [question = ''] = pendingTexts(state)
  const missing = missingIn(question, state.last_agent === 'synthesis')
  return missing === undefined ? [] : [missingText(missing)]
}

const DECISION = /^[\s*_`#>"'-]*(research|clarification)\b[*_`"']*\s*[:—–-]?\s*(.*)$/iu

/** The missing parts that a model's reply names; none if it names none, or cannot be read. */
export function decisionIn(reply: string, question: string): readonly string[] {
  const line = reply.split('\n').find((each) => each.trim() !== '') ?? ''
  const [, word = '', rest = ''] = DECISION.exec(line) ?? []
  if (word.toLowerCase() !== 'clarification') return []
  const said = rest.replaceAll(/[*_`]+/g, '').trim()
  const kind = MISSING_KINDS.find((each) => said.toLowerCase().startsWith(each))
  const what = kind === undefined ? said : said.slice(kind.length).replace(/^\s*[:—–-]\s*/, '')
  const byRule = missingIn(question, false)
  if (what !== '') return [missingText({ kind: kind ?? byRule?.kind ?? 'missing context', what })]
  return [
    byRule === undefined
      ? missingText({ kind: kind ?? 'missing context', what: 'the topic' })
      : missingText(byRule),
  ]
}

/** States what the search is about, now that nobody said it. */
function assumptionOf({ question }: Question, missing: readonly string[]): string {
  const named = tokensOf(question).flatMap(({ word, text }) => (isContentWord(word) ? [text] : []))
  const searched = contentStems(question).length === 0 ? `"${question}"` : [...new Set(named)].join(', ')
  return textsIn(languageOf(question)).assumption(missing.join('; '), searched)
}
