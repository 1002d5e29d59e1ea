/** The agent that plans a task, works on it with tools, verifies the result and plans again. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { type MaybePromise, systemIds } from '../../base/index.ts'
import type { GraphOutcome, GraphRun, InputOf } from '../../graph/index.ts'
import { loadSession } from '../../journal/index.ts'
import {
  type ContextKey,
  checkOptions,
  defined,
  HoldfastError,
  type Json,
  LOCAL_OWNER,
  NO_USAGE,
  type Owner,
  quote,
  type RequestData,
} from '../../protocol/index.ts'
import type { Store } from '../../store/index.ts'
import { memoryStore } from '../../store/memory/index.ts'
import type { Tool } from '../../tool/index.ts'
import { outcomeOf } from '../run-flow.ts'
import { instructionsFor } from './instructions.ts'
import { PROMPT_NODES, type PromptNode, Prompts } from './prompts.ts'
import { resultsOf, type TaskResults } from './results.ts'
import { newestRound } from './rounds.ts'
import { roundInput, type TaskChannels, type TaskState } from './state.ts'
import {
  checkTaskConfig,
  goOn,
  modelSettings,
  RUN,
  type TaskAgentConfig,
  type TaskRunOptions,
} from './task-config.ts'
import { type TaskGraph, taskGraph } from './task-graph.ts'
import { DEFAULT_CONTEXT_TOKENS } from './task-nodes.ts'
import { taskTools } from './task-tools.ts'
import { traceText } from './trace-text.ts'
import { taskProgress } from './verbose.ts'

export class TaskAgent {
  readonly #config: TaskAgentConfig
  readonly #prompts = new Prompts()
  readonly #store: Store
  #tools: Promise<readonly Tool[]> | undefined
  #results: TaskResults | undefined

  constructor(config: TaskAgentConfig) {
    checkTaskConfig(config)
    this.#config = config
    this.#store = config.store ?? memoryStore()
    for (const node of PROMPT_NODES) {
      const text = config.prompts?.[node]
      if (text !== undefined) this.#setPrompt(node, text)
    }
  }

  get store(): Store {
    return this.#store
  }

  /** The results of the newest run here. Throws if there has been none. */
  get results(): TaskResults {
    if (this.#results !== undefined) return this.#results
    throw new HoldfastError('invalid-option', { message: 'No task has run yet. Call run(task) first.' })
  }

  /**
   * Carries out a task. Resolves however it ends: `ended` and `reason` say how, and nothing that was reached is lost. With the
   * `contextId` of another task it is a further round: a new plan, on the same messages, with the earlier results in the prompts.
   */
  async run(task: string, options: TaskRunOptions = {}): Promise<TaskResults> {
    if (typeof task !== 'string' || task.trim() === '')
      throw new HoldfastError('invalid-option', { message: 'The task is empty. Say what is to be done.' })
    checkOptions(options, RUN)
    const contextId = options.contextId ?? systemIds.next('task')
    return this.#follow(options, contextId, (graph, where) => graph.stream(this.valuesOf(task), where))
  }

  /**
   * Goes on with a task that was interrupted, that reached a limit, or whose process died. One that waits needs its answers
   * first: its requests are in the results. One that has ended keeps its results. Throws `nothing-to-continue` if there is none.
   */
  async resume(contextId: string, options: Omit<TaskRunOptions, 'contextId'> = {}): Promise<TaskResults> {
    checkOptions(options, goOn('resume()'))
    return this.#follow(options, contextId, async (graph, where) => {
      const { open, outcome, seq } = await loadSession(this.#store, this.#key(contextId))
      const { owner } = this.#config
      if (seq === 0 || (open === undefined && outcome === 'stop')) return { requests: [] }
      const requests = open === undefined ? await graph.requests({ contextId, ...defined({ owner }) }) : []
      return requests.length > 0 ? { requests } : graph.stream(null, where)
    })
  }

  /** The state that a task has reached, also in another process; undefined if there is no such task. */
  async getState(contextId: string): Promise<TaskState | undefined> {
    const { owner } = this.#config
    const snapshot = await (await this.compile()).getState({ contextId, ...defined({ owner }) })
    return snapshot?.state
  }

  /** Answers questions and approvals of a task that waits, by their ids. */
  async answer(
    contextId: string,
    answers: Readonly<Record<string, Json>>,
    options: Omit<TaskRunOptions, 'contextId'> = {},
  ): Promise<TaskResults> {
    checkOptions(options, goOn('answer()'))
    return this.#follow(options, contextId, (graph, where) => graph.answer(answers, where))
  }

  setPlannerPrompt(text: string): void {
    this.#setPrompt('planner', text)
  }

  setAgentPrompt(text: string): void {
    this.#setPrompt('agent', text)
  }

  setVerifierPrompt(text: string): void {
    this.#setPrompt('verifier', text)
  }

  setReplanPrompt(text: string): void {
    this.#setPrompt('replan', text)
  }

  /** The prompt of a node as it was set, or the default. */
  getPromptTemplate(node: PromptNode): string {
    if (!PROMPT_NODES.includes(node))
      throw new HoldfastError('invalid-option', {
        message: `There is no node ${node} with a prompt. There are ${PROMPT_NODES.join(', ')}.`,
      })
    return this.#prompts.template(node)
  }

  resetPrompts(): void {
    this.#prompts.reset()
  }

  /**
   * The prompts as the nodes would send them for this task and plan, custom ones included, as one text. `saveTo` writes it
   * to a file, `true` to notes/system_prompts.md in the working folder.
   */
  async displaySystemPrompts(
    task = '(the task)',
    plan: string = this.#isPlanning ? '(the plan)' : '',
    { saveTo }: { readonly saveTo?: string | boolean } = {},
  ): Promise<string> {
    const tools = await this.#loaded()
    const values = {
      task,
      plan,
      previous_plan: plan,
      answer: '(the answer)',
      trace_section: '(the trace)',
      verification_feedback: '(the feedback)',
    }
    const nodes = PROMPT_NODES.filter((node) => this.#isPlanning || (node !== 'planner' && node !== 'replan'))
    const text = nodes
      .map((node) => {
        const rendered = this.#prompts.render(node, {
          ...values,
          tool_instructions: instructionsFor(node, tools),
        })
        return `## ${node}\n\n${rendered}\n`
      })
      .join('\n')
    if (saveTo !== undefined && saveTo !== false) {
      const name = saveTo === true ? 'notes/system_prompts.md' : saveTo
      const file = resolve(this.#config.cwd ?? '.', name)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, text)
    }
    return text
  }

  /** The newest round as text: every message, calls with their arguments and origins, plans and the verdict. */
  async displayTrace(): Promise<string> {
    const { messages, isVerified, planIteration, ended, reason } = this.results
    const tools = await this.#loaded()
    const label = (name: string): string => {
      const { origin } = tools.find((tool) => tool.name === name) ?? {}
      return LABELS[origin?.kind ?? 'own']
    }
    return [
      traceText(newestRound(messages), { texts: 500, results: 200, label }),
      `Plans: ${planIteration}. Verified: ${isVerified === null ? 'no verdict' : isVerified ? 'yes' : 'no'}. Ended: ${ended}. ${reason}`,
    ].join('\n')
  }

  get #isPlanning(): boolean {
    return this.#config.planning ?? true
  }

  #setPrompt(node: PromptNode, text: string): void {
    if (!this.#isPlanning && (node === 'planner' || node === 'replan'))
      throw new HoldfastError('invalid-option', {
        message: `Planning is off, so ${node} never runs and its prompt has no effect. Set the prompt of agent, or planning: true.`,
      })
    this.#prompts.set(node, text)
  }

  #loaded(): Promise<readonly Tool[]> {
    this.#tools ??= taskTools(this.#config).catch((error: unknown) => {
      // The next call loads them again: the caller may have mended the cause, such as a missing folder.
      this.#tools = undefined
      throw error
    })
    return this.#tools
  }

  /** The values that a run of the compiled graph begins with: the first of a conversation, or a further round. */
  valuesOf(task: string): InputOf<TaskChannels> {
    return roundInput(task, this.#config.maxContextTokens ?? DEFAULT_CONTEXT_TOKENS)
  }

  /** The graph of the agent, with its store. */
  async compile(): Promise<TaskGraph> {
    const { model, verifierModel = model, criteria = [], plugins = [], recursionLimit = 50 } = this.#config
    const { limits, telemetry, logger, entities, grounding } = this.#config
    return taskGraph({
      tools: await this.#loaded(),
      prompts: this.#prompts,
      model,
      verifierModel,
      settings: modelSettings(this.#config),
      criteria,
      plugins,
      ids: defined({ entities, grounding }),
      planning: this.#isPlanning,
      maxReplans: this.#config.maxReplans ?? 3,
      graph: {
        store: this.#store,
        limits: { ...limits, steps: recursionLimit },
        ...defined({ telemetry, logger }),
      },
    })
  }

  #key(contextId: string): ContextKey {
    return { ...(this.#config.owner ?? LOCAL_OWNER), contextId }
  }

  async #follow(options: TaskRunOptions, contextId: string, begin: Begin): Promise<TaskResults> {
    const { signal, onRequest } = options
    const graph = await this.compile()
    const { owner } = this.#config
    const where: Where = { contextId, ...defined({ owner, signal }) }
    for (let next = await begin(graph, where); ; ) {
      const results =
        'requests' in next
          ? await this.#resultsBefore(graph, contextId, next.requests)
          : await this.#resultsOf(next, options)
      this.#results = results
      if (results.ended !== 'waiting' || onRequest === undefined) return results
      const answers: Record<string, Json> = {}
      for (const request of results.requests) answers[request.requestId] = await onRequest(request)
      next = graph.answer(answers, where)
    }
  }

  /** The results of a run, when it has ended. */
  async #resultsOf(run: GraphRun<TaskChannels>, { onEvent }: TaskRunOptions): Promise<TaskResults> {
    const show = (this.#config.verbose ?? true) ? taskProgress() : undefined
    return this.#toResults(await outcomeOf(run, onEvent, show), run.contextId)
  }

  /** The results of a task that waited, or had ended, before this call. */
  async #resultsBefore(
    graph: TaskGraph,
    contextId: string,
    requests: readonly RequestData[],
  ): Promise<TaskResults> {
    const snapshot = await graph.getState({ contextId, ...defined({ owner: this.#config.owner }) })
    if (snapshot === undefined)
      throw new HoldfastError('nothing-to-continue', { message: `There is no task ${quote(contextId)}.` })
    const { state, turn } = snapshot
    const waiting = { reason: 'input-required', status: 'input-required' } as const
    const end = requests.length > 0 ? waiting : ({ reason: 'stop', status: 'completed' } as const)
    return this.#toResults({ ...end, durationMs: 0, turn, state, requests, usage: NO_USAGE }, contextId)
  }

  /** With the usage of the whole task: each answer and each resume is a turn of its own. */
  async #toResults(outcome: GraphOutcome<TaskChannels>, contextId: string): Promise<TaskResults> {
    const { totals, seq } = await loadSession(this.#store, this.#key(contextId))
    const planning = this.#isPlanning
    const { maxReplans = 3 } = this.#config
    const options = { contextId, isStored: seq > 0, planning, maxReplans }
    return resultsOf({ ...outcome, usage: totals.usage }, options)
  }
}

/** Labels in a trace, by the origin of a tool. */
const LABELS = { own: '🛠️ [own] ', mcp: '🔬 [MCP] ', a2a: '🌐 [A2A] ' } as const

/** A run; or the requests that have to be answered before there can be one, none if the task has ended. */
type Begin = (
  graph: TaskGraph,
  where: Where,
) => MaybePromise<GraphRun<TaskChannels> | { readonly requests: readonly RequestData[] }>

interface Where {
  readonly contextId: string
  readonly owner?: Owner
  readonly signal?: AbortSignal
}

/** One task without keeping an agent. */
export function runTask(
  options: TaskAgentConfig & TaskRunOptions & { readonly task: string },
): Promise<TaskResults> {
  const { task, contextId, signal, onRequest, onEvent, ...config } = options
  return new TaskAgent(config).run(task, defined({ contextId, signal, onRequest, onEvent }))
}
