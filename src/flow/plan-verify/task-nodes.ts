/** The nodes of the flow: planner, agent, tools, verifier, replan. Each is a function of the state. */
import { modelNode, pendingCalls, type ToolNodeConfig, toolNode } from '../../agent/index.ts'
import type { NodeContext, UpdateOf } from '../../graph/index.ts'
import type { Plugin } from '../../hook/index.ts'
import { type ModelOptions, tokenCounter } from '../../model/index.ts'
import {
  type Json,
  type Message,
  replyText,
  type ToolCallPart,
  type ToolResultPart,
} from '../../protocol/index.ts'
import type { Tool } from '../../tool/index.ts'
import { TODO_ARTIFACT } from '../../toolbox/index.ts'
import type { ModelChoice } from '../../turn/index.ts'
import { fitHistory } from '../fit-context.ts'
import { type Criterion, type CriterionResult, runCriteria } from './criteria.ts'
import { fitPrompt } from './fit-prompt.ts'
import { instructionsFor } from './instructions.ts'
import { type PromptNode, type Prompts, type PromptValues, VERDICT_FORM } from './prompts.ts'
import { earlierRounds, jsonText, newestRound, VERIFICATION } from './rounds.ts'
import { attemptOf, COMPLETION, type TaskState as State, type TaskChannels } from './state.ts'
import { fittingTrace } from './trace-text.ts'
import { feedbackOf, type Verdict, verdictIn } from './verdict.ts'

export interface TaskNodes {
  readonly tools: readonly Tool[]
  readonly prompts: Prompts
  readonly model: ModelChoice | readonly ModelChoice[]
  /** Null: nobody judges; only the criteria do. */
  readonly verifierModel: ModelChoice | readonly ModelChoice[] | null
  readonly settings: ModelOptions
  readonly criteria: readonly Criterion[]
  readonly plugins: readonly Plugin[]
  /** Entities and grounding of the agent's model calls and tools. */
  readonly ids: Pick<ToolNodeConfig, 'entities' | 'grounding'>
}

type Update = UpdateOf<TaskChannels>
type TaskNode = (state: State, context: NodeContext) => Promise<Update>

const TODO = 'write_todo_list'
/** Replies in a row without a call, before the run ends. */
export const MOST_NUDGES = 3
/** Tokens are estimated where no tokenizer is installed: the part of the limit that prompts may fill. */
const MARGIN = 0.85
const CHARS_A_TOKEN = 3
export const DEFAULT_CONTEXT_TOKENS = 100_000

const NUDGE =
  'Your reply has no tool call, so nothing happens. Call a tool to go on, or attempt_completion with the result if the task is done.'

export function taskNodes(config: TaskNodes): Record<PromptNode | 'tools', TaskNode> {
  return {
    planner: async (state, context) => {
      await dropEarlierTodo(state, context)
      return plan(config, 'planner', { state, context })
    },
    agent: async (state, context) => {
      await dropEarlierTodo(state, context)
      return act(config, state, context)
    },
    tools: (state, context) => runTools(config, state, context),
    verifier: (state, context) => verify(config, state, context),
    replan: async (state, context) => ({
      ...(await plan(config, 'replan', { state, context })),
      finalAnswer: null,
      isVerified: false,
    }),
  }
}

interface Step {
  readonly state: State
  readonly context: NodeContext
}

async function plan(
  config: TaskNodes,
  node: 'planner' | 'replan',
  { state, context }: Step,
): Promise<Update> {
  const values = {
    ...taskOf(state),
    previous_plan: state.plan,
    verification_feedback: lastFeedback(state),
  }
  const made = await reply(config, { node, values, messages: [ofProgram('Write the plan now.')] }, context)
  const text = replyText(made?.role === 'assistant' ? made.content : []).trim()
  const planIteration = state.planIteration + 1
  return { plan: text, planIteration, nudges: 0, messages: [ofProgram(`Plan ${planIteration}:\n${text}`)] }
}

/** A further round begins without the todo list of the one before: the tools read what the state has. */
async function dropEarlierTodo({ messages }: State, { artifacts }: NodeContext): Promise<void> {
  if (messages.length === 1 || newestRound(messages).length !== 1) return
  const isThere = (await artifacts.list()).some(({ artifactId }) => artifactId === TODO_ARTIFACT)
  if (isThere) await artifacts.delete(TODO_ARTIFACT)
}

async function act(config: TaskNodes, state: State, context: NodeContext): Promise<Update> {
  const { plan: current, messages, nudges } = state
  const values = { ...taskOf(state), plan: current }
  const made = await reply(config, { node: 'agent', values, messages, tools: config.tools }, context)
  if (made === undefined) return { nudges: nudges + 1, messages: [ofProgram(NUDGE)] }
  if (pendingCalls([made]).length > 0) return { nudges: 0, messages: [made] }
  const nudge = nudges < MOST_NUDGES ? [ofProgram(NUDGE)] : []
  return { nudges: nudges + 1, messages: [made, ...nudge] }
}

/** A completion is the call by its id, wherever it stands in the round, and only if it was accepted. */
async function runTools(
  { tools, plugins, ids }: TaskNodes,
  { messages }: State,
  context: NodeContext,
): Promise<Update> {
  const calls = pendingCalls(messages)
  const added = await context.run('', toolNode({ tools, plugins, ...ids }), messages)
  const results = added.flatMap((message) => (message.role === 'tool' ? message.content : []))
  const completion = lastOk(COMPLETION, calls, results)
  const answer = (completion?.call.args as { readonly result?: Json } | undefined)?.result
  const todo = (lastOk(TODO, calls, results)?.result.output as { readonly list?: unknown } | undefined)?.list
  return {
    messages: added,
    // A completion of your own may take data.
    ...(answer === undefined ? {} : { finalAnswer: jsonText(answer) }),
    ...(typeof todo === 'string' ? { todoList: todo } : {}),
  }
}

function lastOk(
  tool: string,
  calls: readonly ToolCallPart[],
  results: readonly ToolResultPart[],
): { readonly call: ToolCallPart; readonly result: ToolResultPart } | undefined {
  const pairs = calls.flatMap((call) => {
    const result = results.find(({ callId }) => callId === call.callId)
    return call.tool === tool && result?.status === 'ok' ? [{ call, result }] : []
  })
  return pairs.at(-1)
}

async function verify(config: TaskNodes, state: State, context: NodeContext): Promise<Update> {
  const answer = state.finalAnswer ?? ''
  const checked = await runCriteria(config.criteria, config.tools, context)
  const failed = checked.filter(({ isMet }) => !isMet)
  // A failed criterion decides: no claim of a model is asked for.
  const isJudged = failed.length === 0 && config.verifierModel !== null
  const judged = isJudged ? await judge(config, state, { answer, checked, context }) : undefined
  const verdict = withCriteria(judged, checked, isJudged)
  const checkedBy = [
    ...(checked.length > 0 ? (['criteria'] as const) : []),
    ...(isJudged ? (['model'] as const) : []),
  ]
  return {
    isVerified: verdict?.verified ?? null,
    attempts: [attemptOf(answer, verdict, checkedBy)],
    messages: [ofProgram(`${VERIFICATION}${verdict === undefined ? 'no verdict' : feedbackOf(verdict)}`)],
  }
}

/** Undefined if nothing and nobody could judge. */
function withCriteria(
  judged: Verdict | undefined,
  checked: readonly CriterionResult[],
  isJudged: boolean,
): Verdict | undefined {
  const failed = checked.filter(({ isMet }) => !isMet)
  const evidence = checked.map(
    ({ name, isMet, output }) => `${name} ${isMet ? 'passed' : 'failed'}: ${output}`,
  )
  if (failed.length > 0)
    return { verified: false, unmet: failed.map(({ name }) => `${name} fails`), evidence }
  if (judged !== undefined) return { ...judged, evidence: [...evidence, ...judged.evidence] }
  return isJudged || checked.length === 0 ? undefined : { verified: true, unmet: [], evidence }
}

interface Judging {
  readonly answer: string
  readonly checked: readonly CriterionResult[]
  readonly context: NodeContext
}

const UNREADABLE =
  'Your reply has no verdict. Reply with the JSON object alone: {"verified": …, "unmet": […], "evidence": […]}.'

async function judge(
  config: TaskNodes,
  state: State,
  { answer, checked, context }: Judging,
): Promise<Verdict | undefined> {
  const { verifierModel, prompts } = config
  if (verifierModel === null) return undefined
  const most = Math.floor((state.maxContextTokens ?? DEFAULT_CONTEXT_TOKENS) * MARGIN * 0.6) * CHARS_A_TOKEN
  const passed = checked.map(({ name }) => `criterion ${name}: passed`).join('\n')
  const trace = [fittingTrace(newestRound(state.messages), most), passed]
    .filter((part) => part !== '')
    .join('\n')
  const values = { ...taskOf(state), answer, trace_section: trace }
  // A prompt of your own need not say how a verdict is written.
  const form = prompts.isCustom('verifier') ? ` ${VERDICT_FORM}` : ''
  const messages: Message[] = [ofProgram(`Give your verdict now.${form}`)]
  for (const attempt of [1, 2]) {
    const request = { node: 'verifier' as const, values, messages, key: `verdict-${attempt}` }
    const made = await reply({ ...config, model: verifierModel }, request, context)
    const text = replyText(made?.role === 'assistant' ? made.content : [])
    const verdict = verdictIn(text)
    if (verdict !== undefined) return verdict
    messages.push(
      { role: 'assistant', content: [{ type: 'text', text: text || '…' }] },
      ofProgram(UNREADABLE),
    )
  }
  return undefined
}

interface ReplyRequest {
  readonly node: PromptNode
  readonly values: PromptValues
  readonly messages: readonly Message[]
  readonly tools?: readonly Tool[]
  /** Tells several replies of one node apart. */
  readonly key?: string
}

/** One reply of the model, within the limit of the context. */
async function reply(
  { prompts, tools: all, model, settings, plugins, ids }: TaskNodes,
  { node, values, messages, tools = [], key = '' }: ReplyRequest,
  context: NodeContext,
): Promise<Message | undefined> {
  const counter = await tokenCounter()
  const budget = Math.floor((settings.contextTokens ?? DEFAULT_CONTEXT_TOKENS) * MARGIN)
  const declared = tools.map(({ name, description, parameters }) => ({ name, description, parameters }))
  const left = budget - counter.text(JSON.stringify(declared))
  const systemPrompt = fitPrompt(
    (fitted) => {
      const tool_instructions = instructionsFor(node, all)
      return prompts.render(node, { ...fitted, tool_instructions })
    },
    { values, most: left, counter },
  )
  const runnable = modelNode({
    name: node,
    model,
    settings,
    systemPrompt,
    tools,
    // Plugins and the guard see the calls of the agent alone: other nodes make none.
    ...(tools.length === 0 ? {} : { plugins, ...ids }),
    maxMessages: Number.MAX_SAFE_INTEGER,
  })
  const history = fitHistory(messages, left - counter.text(systemPrompt), counter)
  const made = await context.run(key, runnable, history)
  return made.find(({ role }) => role === 'assistant')
}

function taskOf({ task = '', messages }: State): { readonly task: string; readonly earlier: string } {
  return { task, earlier: earlierRounds(messages) }
}

function lastFeedback({ attempts }: State): string {
  const last = attempts.at(-1)
  return last === undefined ? '' : feedbackOf({ verified: false, unmet: last.unmet, evidence: last.evidence })
}

function ofProgram(content: string): Message {
  return { role: 'user', content, by: 'program' }
}
