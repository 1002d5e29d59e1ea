/**
 * A graph that plans work, does it with tools and verifies it; or only does and verifies it. Its language model is a
 * script that depends only on the state, so a repeated node gets the same reply. Tools act in steps.
 */
import {
  type Channel,
  END,
  type Graph,
  type GraphOptions,
  graph,
  list,
  type NodeContext,
  type NodeFunction,
  reduce,
  type StateOf,
  value,
} from '../../src/graph/index.ts'

export interface Call {
  readonly id: string
  readonly tool: string
  readonly args: Args
}

type Args = { readonly [name: string]: string }

export type Message =
  | { readonly from: 'user' | 'planner' | 'verifier' | 'replan'; readonly text: string }
  | { readonly from: 'agent'; readonly text: string; readonly calls: readonly Call[] }
  | { readonly from: 'tools'; readonly text: string; readonly callId: string; readonly tool: string }

export type WorkChannels = {
  readonly messages: Channel<readonly Message[], Message | readonly Message[]>
  readonly task: Channel<string>
  readonly plan: Channel<string>
  readonly plan_iteration: Channel<number>
  readonly max_context_tokens: Channel<number>
  readonly final_answer: Channel<string | null>
  readonly is_verified: Channel<boolean>
  readonly todo_list: Channel<string | null>
}

export type WorkState = StateOf<WorkChannels>
type Node = NodeFunction<WorkChannels>

export type Calls = readonly (readonly [tool: string, args?: Args])[]
/** A thought, or tool calls. */
export type Reply = string | Calls
/** Replies at once, or fails at the first attempt and replies at the next. */
export type Line<T> = T | Failing<T>
interface Failing<T> {
  readonly fails: string
  readonly later: T
}

/** The model's replies to each node, in order; the last one repeats. */
export interface Script {
  readonly planner?: Line<string>
  readonly agent: readonly Line<Reply>[]
  readonly verifier?: readonly Line<string>[]
  readonly replan?: readonly Line<string>[]
}

export interface Asked {
  readonly node: keyof Script
  readonly prompt: readonly string[]
}

export interface WorkCast {
  readonly script: Script
  readonly tools?: { readonly [tool: string]: (args: Args) => string }
  /** The prompts of the model, for the test to inspect. */
  readonly asked?: Asked[]
}

export const COMPLETION = 'attempt_completion'
export const NUDGE: string = `Call a tool; when all is done, call ${COMPLETION}.`

function state(): WorkChannels {
  return {
    messages: list<Message>(),
    task: value(''),
    plan: value(''),
    plan_iteration: reduce((sum: number, more: number) => sum + more, 0),
    max_context_tokens: value(100_000),
    final_answer: value<string | null>(null),
    is_verified: value(false),
    todo_list: value<string | null>(null),
  }
}

/** Plans first, and replans rejected work. */
export function plannedWork(cast: WorkCast, options: GraphOptions = {}): Graph<WorkChannels> {
  return graph<WorkChannels>({ name: 'planned-work', state: state() })
    .addNode('planner', planner(cast))
    .addNode('agent', agent(cast))
    .addNode('tools', tools(cast))
    .addNode('verifier', verifier(cast))
    .addNode('replan', replan(cast))
    .setEntryPoint('planner')
    .addEdge('planner', 'agent')
    .addConditionalEdges('agent', afterAgent, { act: 'tools', think: 'agent' })
    .addConditionalEdges('tools', afterTools, { done: 'verifier', more: 'agent' })
    .addConditionalEdges('verifier', ({ is_verified }) => (is_verified ? 'good' : 'bad'), {
      good: END,
      bad: 'replan',
    })
    .addEdge('replan', 'agent')
    .compile(options)
}

/** Starts without a plan, and ends with the verdict. */
export function unplannedWork(cast: WorkCast, options: GraphOptions = {}): Graph<WorkChannels> {
  return graph<WorkChannels>({ name: 'unplanned-work', state: state() })
    .addNode('agent', agent(cast))
    .addNode('tools', tools(cast))
    .addNode('verifier', verifier(cast))
    .setEntryPoint('agent')
    .addConditionalEdges('agent', afterAgent, { act: 'tools', think: 'agent' })
    .addConditionalEdges('tools', afterTools, { done: 'verifier', more: 'agent' })
    .addEdge('verifier', END)
    .compile(options)
}

function planner(cast: WorkCast): Node {
  return ({ task }, context) => {
    const { planner: line = 'Do it.' } = cast.script
    const plan = say(cast, { node: 'planner', prompt: [`Task: ${task}`], line }, context)
    const messages: Message[] = [
      { from: 'user', text: task },
      { from: 'planner', text: plan },
    ]
    return { plan, plan_iteration: 1, messages }
  }
}

function agent(cast: WorkCast): Node {
  return ({ task, plan, messages }, context) => {
    const before = messages.filter(({ from }) => from === 'agent').length
    const last = messages.at(-1)
    const nudge = last?.from === 'agent' && last.calls.length === 0 ? [NUDGE] : []
    const prompt = [`Task: ${task}`, `Plan: ${plan}`, ...traceOf(messages), ...nudge]
    const reply = say(cast, { node: 'agent', prompt, line: nth(cast.script.agent, before) }, context)
    if (typeof reply === 'string') return { messages: { from: 'agent', text: reply, calls: [] } }
    const calls = reply.map(([tool, args = {}], index) => ({
      id: `call-${before + 1}-${index + 1}`,
      tool,
      args,
    }))
    return { messages: { from: 'agent', text: '', calls } }
  }
}

/** Runs all calls of the last message; failures are reported like results. */
function tools(cast: WorkCast): Node {
  return async ({ messages }, context) => {
    const results: Message[] = []
    let todo: string | undefined
    for (const call of lastCalls(messages)) {
      const text = await resultOf(cast, call, context)
      results.push({ from: 'tools', text, callId: call.id, tool: call.tool })
      if (call.tool === 'write_todo_list') todo = call.args['list']
    }
    return { messages: results, todo_list: todo }
  }
}

async function resultOf(cast: WorkCast, { id, tool, args }: Call, { step }: NodeContext): Promise<string> {
  if (tool === COMPLETION) return 'Handed in.'
  if (tool === 'write_todo_list') return 'Noted.'
  const run = cast.tools?.[tool]
  if (run === undefined) return `There is no tool ${tool}.`
  try {
    return await step(id, () => run(args))
  } catch (error) {
    return `Failed: ${(error as Error).message}`
  }
}

/** Decides by the called tool, never by the text of a result. */
function verifier(cast: WorkCast): Node {
  return ({ task, messages }, context) => {
    const { verifier: script = ['VERIFIED: fine'] } = cast.script
    const answer = completionIn(messages)?.args['result'] ?? ''
    if (answer === '')
      return {
        final_answer: null,
        is_verified: false,
        messages: { from: 'verifier', text: 'NOT_VERIFIED: there is no answer' },
      }
    const line = nth(script, messages.filter(({ from }) => from === 'verifier').length)
    const prompt = [`Task: ${task}`, `Answer: ${answer}`, ...traceOf(messages)]
    const verdict = say(cast, { node: 'verifier', prompt, line }, context)
    return {
      final_answer: answer,
      is_verified: isVerified(verdict),
      messages: { from: 'verifier', text: verdict },
    }
  }
}

/** True if the verdict begins with VERIFIED, in any formatting. */
function isVerified(verdict: string): boolean {
  return /^[^\p{L}\p{N}]*verified\b/iu.test(verdict)
}

function replan(cast: WorkCast): Node {
  return ({ task, plan: before, plan_iteration, messages }, context) => {
    const { replan: script = ['Do it better.'] } = cast.script
    const feedback = messages.findLast(({ from }) => from === 'verifier')?.text ?? ''
    const prompt = [`Task: ${task}`, `Previous plan: ${before}`, `Feedback: ${feedback}`]
    const plan = say(cast, { node: 'replan', prompt, line: nth(script, plan_iteration - 1) }, context)
    return {
      plan,
      plan_iteration: 1,
      final_answer: null,
      is_verified: false,
      messages: { from: 'replan', text: plan },
    }
  }
}

function afterAgent({ messages }: WorkState): 'act' | 'think' {
  return lastCalls(messages).length > 0 ? 'act' : 'think'
}

function afterTools({ messages }: WorkState): 'done' | 'more' {
  return completionIn(messages) === undefined ? 'more' : 'done'
}

/** The last hand-in of the work, if the agent's last message made one. */
function completionIn(messages: readonly Message[]): Call | undefined {
  return lastCalls(messages).findLast(({ tool }) => tool === COMPLETION)
}

function lastCalls(messages: readonly Message[]): readonly Call[] {
  return messages.findLast((message) => message.from === 'agent')?.calls ?? []
}

function traceOf(messages: readonly Message[]): string[] {
  return messages.map((message) => {
    if (message.from === 'tools') return `${message.tool}: ${message.text}`
    if (message.from !== 'agent' || message.calls.length === 0) return `${message.from}: ${message.text}`
    return `agent: ${message.calls.map(({ tool }) => tool).join(', ')}`
  })
}

function say<T extends Reply>(
  { asked }: WorkCast,
  { line, ...asking }: Asked & { readonly line: Line<T> },
  { attempt }: NodeContext,
): T {
  asked?.push(asking)
  if (!isFailing(line)) return line
  if (attempt === 1) throw new Error(line.fails)
  return line.later
}

function isFailing<T>(line: Line<T>): line is Failing<T> {
  return typeof line === 'object' && line !== null && 'fails' in line
}

function nth<T>(script: readonly T[], index: number): T {
  return script[Math.min(index, script.length - 1)] as T
}
