/** The synthesis: answers the newest question from the evidence, checks every citation, and says how sure it is. */
import type { NodeContext } from '../../graph/index.ts'
import { checkOptions } from '../../protocol/index.ts'
import { jsonIn } from '../../turn/index.ts'
import { BaseAgent } from './base-agent.ts'
import { callModel, programMessage, saysNotFound } from './call-model.ts'
import { citesFirst, type ReadAnswer, readAnswer, withoutCitations, writeAnswer } from './citations.ts'
import {
  answeredUpdate,
  type Draft,
  extracted,
  notFoundUpdate,
  statedConflicts,
  type Task,
  taskOf,
  withConflicts,
} from './compose-answer.ts'
import {
  type ModelUse,
  modelUse,
  type ResearchPrompt,
  SYNTHESIS,
  type SynthesisOptions,
  supportThreshold,
} from './config.ts'
import type { Evidence } from './evidence.ts'
import { shippedPrompt } from './prompts.ts'
import { conversationText, type ResearchState, type ResearchUpdate, textOf } from './state.ts'

export class SynthesisAgent extends BaseAgent {
  readonly #use: ModelUse
  readonly #threshold: number
  readonly #modelCheck: boolean
  readonly #checkPrompt: ResearchPrompt

  constructor(options: SynthesisOptions = {}) {
    super('synthesis')
    checkOptions(options, SYNTHESIS)
    this.#use = modelUse(options, { name: 'synthesis', temperature: 0.7 })
    this.#threshold = supportThreshold(options)
    this.#modelCheck = options.modelCheck ?? true
    this.#checkPrompt = options.checkPrompt ?? shippedPrompt('support')
  }

  override async run(state: ResearchState, context: NodeContext): Promise<ResearchUpdate> {
    const task = taskOf(state)
    const draft = await this.#draft(task, context)
    const read = readAnswer(draft.text, task.evidence, this.#threshold)
    const isAnswered = read.claims.some(({ cited }) => cited.length > 0)
    const update = isAnswered
      ? await this.#answered({ draft, own: read, task }, context)
      : notFoundUpdate(task, draft, read)
    return { ...update, next_agent: 'END', last_agent: 'synthesis', iteration: 1 }
  }

  async #answered({ draft, own, task }: OwnAnswer, context: NodeContext): Promise<ResearchUpdate> {
    const { evidence, texts } = task
    const refuted = await this.#refuted(own, evidence, context)
    const conflicts = statedConflicts(own.claims, task)
    const read = readAnswer(
      withConflicts(draft.text, { claims: own.claims, conflicts }, texts),
      evidence,
      this.#threshold,
    )
    const checked = writeAnswer(read, { evidence, marks: texts.marks, refuted })
    return answeredUpdate({ ...checked, invented: read.invented, conflicts }, draft, task)
  }

  async #draft(task: Task, context: NodeContext): Promise<Draft> {
    const { evidence, texts } = task
    if (evidence.length === 0) return { text: '', note: '' }
    if (this.#use.model === undefined) return { text: extracted(task), note: texts.extractive }
    const reply = await callModel(
      this.#use,
      { key: 'answer', messages: [programMessage(this.#prompt(task))] },
      context,
    )
    if (reply instanceof Error)
      return { text: extracted(task), note: texts.extractiveAfterFailure(reply.message) }
    const text = withoutFence(textOf(reply).trim())
    if (text === '' || (saysNotFound(text) && !citesFirst(text))) return { text: '', note: '' }
    return { text, note: '', refused: texts.notFoundButWritten }
  }

  #prompt({ state, question, about, evidence }: Task): string {
    const { observations = [], final_output = '', assumption } = state.context
    const sources = evidence.map(
      ({ number, title, page, source, text }) =>
        `[${number}] ${title}${page === null ? ` (${source})` : `, page ${page}`}\n${text}`,
    )
    return [
      conversationText(state, this.#use.maxHistory),
      `# Question to answer\n${question}${about === '' ? '' : `\n(It refers back to: ${about}.)`}`,
      ...(typeof assumption === 'string' ? [`# Assumption\n${assumption}`] : []),
      `# Notes of the research\n${[...observations, final_output].join('\n')}`,
      `# Sources\n${sources.join('\n\n')}`,
    ].join('\n\n')
  }

  /** The cited claims that the model finds unsupported. A check that fails, or that cannot be read, refutes none. */
  async #refuted(
    { claims }: ReadAnswer,
    evidence: readonly Evidence[],
    context: NodeContext,
  ): Promise<ReadonlySet<number>> {
    const cited = claims.flatMap((claim, at) => (claim.verdict === 'supported' ? [{ claim, at }] : []))
    if (this.#use.model === undefined || !this.#modelCheck || cited.length === 0) return new Set()
    const rows = cited.map(({ claim }, index) => {
      const sources = evidence.filter(({ number }) => claim.cited.includes(number))
      const passages = sources.map(({ title, text }) => `> ${title}: ${text.replaceAll('\n', ' ')}`)
      return `${index + 1}. ${withoutCitations(claim.text)}\n${passages.join('\n')}`
    })
    const { settings } = this.#use
    const cold = settings.temperature === undefined ? {} : { temperature: 0 }
    const use = { ...this.#use, prompt: this.#checkPrompt, settings: { ...settings, ...cold } }
    const messages = [programMessage(`# Claims, each with its sources\n\n${rows.join('\n\n')}`)]
    const reply = await callModel(use, { key: 'support', messages }, context)
    if (reply instanceof Error) return new Set()
    const numbers = unsupportedIn(textOf(reply))
    return new Set(cited.flatMap(({ at }, index) => (numbers.includes(index + 1) ? [at] : [])))
  }
}

/** A draft, and what was read in it before conflicts are added. */
interface OwnAnswer {
  readonly draft: Draft
  readonly own: ReadAnswer
  readonly task: Task
}

/** Some models write the whole answer as a block of Markdown code. */
function withoutFence(text: string): string {
  const [, inside] = /^```(?:markdown|md)?[^\S\n]*\n([^]*?)\n```$/i.exec(text) ?? []
  return inside === undefined || inside.includes('```') ? text : inside.trim()
}

/** The numbers of a reply such as `{"unsupported": [2]}`; none if it cannot be read. */
function unsupportedIn(reply: string): readonly number[] {
  const found = jsonIn(reply)
  const { unsupported } = Object('values' in found ? found.values.at(-1) : undefined) as {
    readonly unsupported?: unknown
  }
  return Array.isArray(unsupported) ? unsupported.filter((each) => typeof each === 'number') : []
}
