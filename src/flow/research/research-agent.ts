/**
 * The research agent: searches papers first, then the web where it is due, and lets the model search on. Only its last message
 * enters the conversation.
 */
import { pendingCalls, toolNode } from '../../agent/index.ts'
import type { NodeContext } from '../../graph/index.ts'
import type { Json, Message, ToolCallPart } from '../../protocol/index.ts'
import type { Tool } from '../../tool/index.ts'
import { askedParts } from './asked-part.ts'
import { BaseAgent } from './base-agent.ts'
import { callModel, endsRun, programMessage, saysNotFound } from './call-model.ts'
import { checkResearch, MOST_TOP_K, type ModelUse, modelUse, type ResearchAgentOptions } from './config.ts'
import { evidenceOf, withoutDuplicates } from './evidence.ts'
import { extract } from './extract.ts'
import type { PdfResult, WebResult } from './findings.ts'
import { asksForWeb, type Question, queriesFor, questionOf, subjectQueries } from './question.ts'
import {
  type Finding,
  findingOf,
  PDF_RETRIEVAL,
  pdfRetrieval,
  type SearchName,
  WEB_SEARCH,
  webSearch,
} from './search-tools.ts'
import { aiMessage, conversationText, type ResearchState, type ResearchUpdate, textOf } from './state.ts'

const DEFAULT_TOP_K = 5
const DEFAULT_ROUNDS = 10

export class ResearchAgent extends BaseAgent {
  readonly #options: ResearchAgentOptions
  readonly #use: ModelUse

  constructor(options: ResearchAgentOptions) {
    super('research')
    checkResearch(options)
    this.#options = options
    this.#use = modelUse(options, { name: 'research', temperature: 0.7 })
  }

  override async run(state: ResearchState, context: NodeContext): Promise<ResearchUpdate> {
    const question = currentQuestion(state)
    const { maxRounds = DEFAULT_ROUNDS, topK = DEFAULT_TOP_K } = this.#options
    // A caller over the network may set any JSON.
    const asked = Math.floor(state.context.top_k ?? topK)
    const top = Number.isNaN(asked) ? topK : Math.min(MOST_TOP_K, Math.max(1, asked))
    // The number of one question is not that of the next.
    const used = state.context.top_k === undefined ? {} : { top_k: null }
    const options = { ...this.#options, topK: top }
    const tools = { pdf: pdfRetrieval(options), web: webSearch(options) }
    const rounds = new Rounds(context, { tools, maxRounds })
    await this.#searchByRule(rounds, question)
    const written =
      this.#use.model === undefined ? undefined : await this.#searchByModel(rounds, state, context)
    const found = rounds.found
    const final_output = written ?? summaryOf(found)
    return {
      messages: [aiMessage(final_output)],
      context: { ...found, final_output, ...used },
      next_agent: 'synthesis',
      last_agent: 'research',
      iteration: 1,
    }
  }

  /** Papers first, once more by the subjects of parts that they do not answer; the web beside them if the user asks for it, and after them if they have nothing. */
  async #searchByRule(rounds: Rounds, question: Question): Promise<void> {
    const queries = queriesFor(question)
    const isWebAsked = asksForWeb(question.question)
    const papers = queries.map((query) => ({ tool: PDF_RETRIEVAL, query }) as const)
    const pages = queries.map((query) => ({ tool: WEB_SEARCH, query }) as const)
    await rounds.search([...papers, ...(isWebAsked && rounds.hasWeb ? pages : [])])
    const subjects = rounds.isRepeatable ? subjectsOf(question, rounds.found) : []
    if (subjects.length > 0) await rounds.search(subjects.map((query) => ({ tool: PDF_RETRIEVAL, query })))
    if (!rounds.hasPapers && rounds.isWebLeft) await rounds.search(pages)
  }

  /** The model's last message; undefined if it wrote none. */
  async #searchByModel(
    rounds: Rounds,
    state: ResearchState,
    context: NodeContext,
  ): Promise<string | undefined> {
    const question = currentQuestion(state)
    const messages: Message[] = [programMessage(this.#taskText(rounds, state, question))]
    for (let number = 1; ; number++) {
      const tools = rounds.isLeft ? rounds.offered(question) : []
      const reply = await callModel(this.#use, { key: `reply-${number}`, messages, tools }, context)
      if (reply instanceof Error) {
        rounds.observe(`The research model failed: ${reply.message}`)
        return undefined
      }
      const calls = tools.length === 0 ? [] : pendingCalls([reply])
      const text = textOf(reply).trim()
      if (calls.length > 0) messages.push(reply, ...(await rounds.run(calls, messages)))
      else if (saysNotFound(text) && rounds.isLeft && rounds.isWebLeft) {
        await rounds.search(queriesFor(question).map((query) => ({ tool: WEB_SEARCH, query })))
        messages.push(reply, programMessage(`The web was searched, too.\n\n${foundText(rounds.found)}`))
      } else return text === '' ? undefined : text
    }
  }

  #taskText(rounds: Rounds, state: ResearchState, { question, about }: Question): string {
    return [
      conversationText(state, this.#use.maxHistory),
      `# Question\n${question}${about === '' ? '' : `\n(It refers back to: ${about}.)`}`,
      `# Found so far\n${foundText(rounds.found)}`,
    ].join('\n\n')
  }
}

/** The subjects of the parts that no passage answers. */
function subjectsOf(question: Question, found: Found): readonly string[] {
  const { open } = extract(evidenceOf(found), askedParts(question))
  return subjectQueries(
    open.map(({ part }) => part),
    question,
  )
}

/** As the orchestrator left it; without one, from the messages. */
function currentQuestion(state: ResearchState): Question {
  const { question, about = '' } = state.context
  return question === undefined ? questionOf(state) : { question, about }
}

interface Search {
  readonly tool: SearchName
  readonly query: string
}

/** The score of a passage that is about the question. Those below it are searched for an answer all the same. */
const ABOUT_SCORE = 0.3

interface RoundOptions {
  readonly tools: { readonly pdf: Tool; readonly web: Tool | undefined }
  readonly maxRounds: number
}

/** The rounds of searches of one question, and all that they found. The calls of one round run in parallel. */
class Rounds {
  readonly #context: NodeContext
  readonly #tools: RoundOptions['tools']
  readonly #maxRounds: number
  readonly #findings: Finding[] = []
  readonly #notes: string[] = []
  #count = 0

  constructor(context: NodeContext, { tools, maxRounds }: RoundOptions) {
    this.#context = context
    this.#tools = tools
    this.#maxRounds = maxRounds
  }

  get isLeft(): boolean {
    return this.#count < this.#maxRounds
  }

  get hasWeb(): boolean {
    return this.#tools.web !== undefined
  }

  /** True if the web is there, and was not searched yet. */
  get isWebLeft(): boolean {
    return this.hasWeb && this.isLeft && !this.#findings.some(({ tool }) => tool === WEB_SEARCH)
  }

  /** False if no passage is about the question. */
  get hasPapers(): boolean {
    return this.#findings.some(({ pdf }) => pdf.some(({ score }) => score >= ABOUT_SCORE))
  }

  /** True if a search of papers with other words may find more: there are papers, and no search has failed. */
  get isRepeatable(): boolean {
    return this.isLeft && this.#findings.every(({ canRepeat }) => canRepeat)
  }

  get found(): Found {
    return {
      observations: [...this.#findings.map(({ observation }) => observation), ...this.#notes],
      tool_history: [...new Set(this.#findings.map(({ tool }) => tool))],
      pdf_results: withoutDuplicates(this.#findings.flatMap(({ pdf }) => pdf)),
      web_results: withoutDuplicates(this.#findings.flatMap(({ web }) => web)),
    }
  }

  /** The web is offered if the user asks for it, or if papers have nothing. */
  offered({ question }: Question): readonly Tool[] {
    const { pdf, web } = this.#tools
    const isWebDue = asksForWeb(question) || !this.hasPapers
    return web !== undefined && isWebDue ? [pdf, web] : [pdf]
  }

  observe(note: string): void {
    this.#notes.push(note)
  }

  async search(searches: readonly Search[]): Promise<void> {
    const calls = searches.map(({ tool, query }, at): ToolCallPart => {
      const callId = `${this.#context.task}-${this.#count + 1}-${at + 1}`
      return { type: 'tool-call', callId, tool, args: { query } }
    })
    await this.run(calls, [programMessage('Search.')])
  }

  /** Runs the calls of a reply under the rules of tools, and returns their results as messages. */
  async run(calls: readonly ToolCallPart[], before: readonly Message[]): Promise<readonly Message[]> {
    this.#count += 1
    const { pdf, web } = this.#tools
    const node = toolNode({ tools: web === undefined ? [pdf] : [pdf, web] })
    const history = [...before, { role: 'assistant', content: calls } as const]
    const added = await this.#runNode(node, history)
    const results = added.flatMap((message) => (message.role === 'tool' ? message.content : []))
    for (const { callId, tool, args } of calls)
      this.#findings.push(
        findingOf(
          queryIn(args),
          results.find((result) => result.callId === callId),
          tool,
        ),
      )
    return added
  }

  async #runNode(
    node: ReturnType<typeof toolNode>,
    history: readonly Message[],
  ): Promise<readonly Message[]> {
    try {
      return await this.#context.run(`round-${this.#count}`, node, history)
    } catch (error) {
      if (endsRun(error, this.#context)) throw error
      this.observe(`A round of searches failed: ${(error as Error).message}`)
      return []
    }
  }
}

type Found = {
  readonly observations: readonly string[]
  readonly tool_history: readonly string[]
  readonly pdf_results: readonly PdfResult[]
  readonly web_results: readonly WebResult[]
}

function queryIn(args: Json): string {
  const { query } = Object(args) as { readonly query?: unknown }
  return typeof query === 'string' ? query : JSON.stringify(args)
}

function foundText({ observations, pdf_results, web_results }: Found): string {
  const passages = pdf_results.map(({ title, page, text }) => `## ${title}${pageText(page)}\n${text}`)
  const pages = web_results.map(({ title, url, text }) => `## ${title} (${url})\n${text}`)
  return [observations.join('\n'), ...passages, ...pages].join('\n\n')
}

function pageText(page: number | null): string {
  return page === null ? '' : `, page ${page}`
}

/** Without a model: the number of finds, and where they are. */
function summaryOf({ observations, pdf_results, web_results }: Found): string {
  const places = [
    ...pdf_results.map(({ title, page }) => `${title}${pageText(page)}`),
    ...web_results.map(({ title, url }) => `${title} (${url})`),
  ]
  if (places.length === 0) return `Nothing was found. ${observations.join(' ')}`.trim()
  return `Found in: ${[...new Set(places)].join('; ')}.`
}
