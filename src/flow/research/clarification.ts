/** The clarification agent: asks one question and ends the turn. */
import type { NodeContext } from '../../graph/index.ts'
import { checkOptions } from '../../protocol/index.ts'
import { BaseAgent } from './base-agent.ts'
import { callModel, programMessage } from './call-model.ts'
import { type AgentOptions, CLARIFICATION, type ModelUse, modelUse } from './config.ts'
import { pendingTexts } from './question.ts'
import { aiMessage, conversationText, type ResearchState, type ResearchUpdate, textOf } from './state.ts'
import { textsIn } from './texts.ts'
import { MISSING_KINDS } from './vagueness.ts'
import { languageOf } from './words.ts'

export class ClarificationAgent extends BaseAgent {
  readonly #use: ModelUse

  constructor(options: AgentOptions = {}) {
    super('clarification')
    checkOptions(options, CLARIFICATION)
    this.#use = modelUse(options, { name: 'clarification', temperature: 0.5 })
  }

  override async run(state: ResearchState, context: NodeContext): Promise<ResearchUpdate> {
    const written = this.#use.model === undefined ? undefined : await this.#askModel(state, context)
    const text = written ?? fixedQuestion(state)
    return {
      messages: [aiMessage(text)],
      final_answer: text,
      next_agent: 'END',
      last_agent: 'clarification',
      iteration: 1,
    }
  }

  async #askModel(state: ResearchState, context: NodeContext): Promise<string | undefined> {
    const { missing_context } = state
    const text = [
      conversationText(state, this.#use.maxHistory),
      `# What is missing\n${missing_context.join('\n')}`,
    ].join('\n\n')
    const reply = await callModel(this.#use, { key: 'question', messages: [programMessage(text)] }, context)
    return reply instanceof Error ? undefined : firstQuestion(textOf(reply))
  }
}

/** Up to the first question mark. A reply without one is no question. */
function firstQuestion(reply: string): string | undefined {
  const end = reply.search(/[?？]/u)
  return end < 0 ? undefined : reply.slice(0, end + 1).trim()
}

function fixedQuestion(state: ResearchState): string {
  const [missing = ''] = state.missing_context
  const kind = MISSING_KINDS.find((each) => missing.startsWith(each)) ?? 'missing context'
  const words = [...missing.matchAll(/"([^"]+)"/g)].map(([, word = '']) => word)
  const [question = ''] = pendingTexts(state)
  return textsIn(languageOf(question)).ask({ kind, words })
}
