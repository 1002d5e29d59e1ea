/** An agent as a node of a graph (R17). */
import {
  type ChildContext,
  type ChildResult,
  isComplete,
  type Runnable,
  type TurnOutcome,
} from '../drive/index.ts'
import { invalidOption, type Message, type UserContent } from '../protocol/index.ts'
import type { NodeTurn } from '../turn/index.ts'
import { windowOf } from './message-window.ts'
import { checkSubAgent, runBelow, type SubAgentConfig, type WithOutput } from './run-below.ts'

/** The config of an agent as a node. */
export type AgentNodeConfig<Output = unknown> = SubAgentConfig<Output> & {
  /** True: the node has one conversation with the agent, in all steps and runs. Its input is then the next message. */
  readonly memory?: boolean
}

/**
 * Takes a message, or the messages of the state as the conversation so far. Returns the agent's last text, or its output
 * if the config has an `output` schema. Each task of the graph gets its own conversation below the graph's, unless the
 * node has a memory.
 *
 * @example
 * graph.addNode('research', agentNode({ model: 'openai/gpt-4.1-mini', settings: { temperature: 0.3 }, tools: [search] }), {
 *   input: (state) => state.question,
 *   output: (text) => ({ answer: text }),
 * })
 */
export function agentNode<Output>(
  config: AgentNodeConfig<Output> & WithOutput<Output>,
): Runnable<string | readonly Message[], Output>
export function agentNode(config: AgentNodeConfig): Runnable<string | readonly Message[], string>
export function agentNode(config: AgentNodeConfig): Runnable<string | readonly Message[], unknown> {
  const { memory = false, ...rest } = config ?? {}
  // The check recognises an `Agent` only by the object itself, so it is not copied.
  const own = config?.memory === undefined ? config : rest
  checkSubAgent('agentNode() takes a config as for an Agent.', own)
  if (typeof memory !== 'boolean') throw invalidOption('memory', 'must be true or false')
  return { '~run': (below, input) => runAgent(own, input, { below, lasts: memory }) }
}

/** An agent below a call or a node, until it ends or waits. */
export async function runAgent(
  config: SubAgentConfig,
  input: string | readonly Message[],
  { below, lasts = false }: { readonly below: ChildContext; readonly lasts?: boolean },
): Promise<ChildResult<unknown>> {
  const start = typeof input === 'string' ? { message: input } : await afterHistory(config, input, lasts)
  const { result } = await runBelow({ config, below, lasts, ...start })
  const outcome = withOutput(config, result.outcome)
  return { ...result, outcome, output: config.output === undefined ? outcome.text : outcome.output }
}

interface Start {
  readonly message?: UserContent
  readonly nodeTurn?: NodeTurn
}

/** A last message of the user begins the turn; after any other, the agent just goes on. */
async function afterHistory(
  config: SubAgentConfig,
  input: readonly Message[],
  lasts: boolean,
): Promise<Start> {
  if (lasts)
    throw invalidOption(
      'input',
      'of a node with a memory must be the next message as a text: its conversation has the earlier ones',
    )
  const messages = await windowOf('The input of agentNode()', input, config)
  const last = messages.at(-1)
  if (last?.role !== 'user') return { nodeTurn: { kind: 'whole', history: messages } }
  return { message: last.content, nodeTurn: { kind: 'whole', history: messages.slice(0, -1) } }
}

/** A completed turn without the configured output, which a hook stopped, is a failure for its caller. */
function withOutput({ output }: SubAgentConfig, outcome: TurnOutcome): TurnOutcome {
  if (output === undefined || !isComplete(outcome) || outcome.output !== undefined) return outcome
  const message = `${outcome.stopped?.by ?? 'A hook'} stopped the agent before it gave its output.`
  return { ...outcome, status: 'failed', reason: 'failed', error: { code: 'invalid-output', message } }
}
