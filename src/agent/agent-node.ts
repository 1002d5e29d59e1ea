/** An agent run below another loop: as a node of a graph, or as a tool of another agent (R17). */
import {
  type AnswerOrigins,
  attachCause,
  type ChildContext,
  type ChildResult,
  HANDED_DOWN,
  isComplete,
  leastLimits,
  metadataBelow,
  type Runnable,
  runChild,
  type TurnOutcome,
} from '../drive/index.ts'
import { loadSession } from '../journal/index.ts'
import type { LogConfig } from '../observe/index.ts'
import { childKey, defined, HoldfastError, invalidOption } from '../protocol/index.ts'
import type { StandardSchema } from '../tool/index.ts'
import { Agent } from './agent.ts'
import { type AgentConfig, setUp } from './config.ts'
import { newestSightings } from './sightings.ts'
import type { TurnOptions } from './turn-options.ts'

/** The config of a sub-agent: an agent without a conversation of its own. */
export type SubAgentConfig<Output = unknown> = Omit<AgentConfig<Output>, FromAbove> & {
  /** Never set: derived from the call. Keeps an `Agent` from matching this type. */
  readonly contextId?: never
}

/** The config of a sub-agent with structured output. */
export type WithOutput<Output> = SubAgentConfig<Output> & {
  readonly output: StandardSchema<unknown, Output>
}

type FromAbove =
  | 'contextId'
  | 'owner'
  | 'store'
  | 'autoSave'
  | 'allow'
  | 'credentials'
  | 'clock'
  | 'timer'
  | 'ids'
  | keyof LogConfig

const FROM_ABOVE: readonly FromAbove[] = [
  ...(['contextId', 'owner', 'store', 'autoSave', 'allow'] as const),
  ...(['credentials', 'clock', 'timer', 'ids', 'quiet', 'log', 'sessions', 'logger'] as const),
]

/**
 * Takes a message, returns the agent's last text, or its output if the config has an `output` schema. Each task of the graph gets its own conversation below the graph's.
 *
 * @example
 * graph.addNode('research', agentNode({ model: 'openai/gpt-4.1-mini', settings: { temperature: 0.3 }, tools: [search] }), {
 *   input: (state) => state.question,
 *   output: (text) => ({ answer: text }),
 * })
 */
export function agentNode<Output>(config: WithOutput<Output>): Runnable<string, Output>
export function agentNode(config: SubAgentConfig): Runnable<string, string>
export function agentNode(config: SubAgentConfig): Runnable<string, unknown> {
  checkSubAgent('agentNode() takes a config as for an Agent.', config)
  return { '~run': (below, message) => runAgent(config, message, below) }
}

/** Reports a config that would fail every call where it is defined. */
export function checkSubAgent(what: string, config: unknown): void {
  if (typeof config !== 'object' || config === null)
    throw new HoldfastError('invalid-option', { message: what })
  if (config instanceof Agent)
    throw new HoldfastError('invalid-option', {
      message: `${what} Pass { model, systemPrompt, tools }, not an Agent: each call gets a conversation of its own.`,
    })
  const inherited = FROM_ABOVE.find((name) => (config as Partial<AgentConfig>)[name] !== undefined)
  if (inherited !== undefined)
    throw invalidOption(inherited, 'cannot be set for a sub-agent: its caller sets it. Leave it out')
  setUp({ ...config, contextId: 'sub-agent' })
}

export async function runAgent(
  config: SubAgentConfig,
  message: string,
  below: ChildContext,
): Promise<ChildResult<unknown>> {
  const { childScope, name, principal, credentials, signal } = below
  const { contextId, ...ports } = childScope.config
  const key = childKey({ ...ports.owner, contextId }, name)
  const agent = new Agent({
    ...config,
    ...ports,
    contextId: key.contextId,
    parent: contextId,
    credentials: () => credentials,
    allow: () => true,
    // The caller's observers see its turns, too.
    log: false,
    sessions: false,
  })
  const limits = leastLimits(config.limits, below.limits)
  const auth = { ...principal, ...defined({ credentials }) }
  const options: TurnOptions = { auth, signal, limits, metadata: metadataBelow(below) }
  const child = {
    start: () => agent.start(),
    requests: () => agent.requests(),
    turnNow: () => agent.turn,
    lastTurn: () => agent.lastTurn(),
    answer: (answers: Parameters<Agent['answer']>[0], origins: AnswerOrigins) => {
      const childOptions = { ...options, [HANDED_DOWN]: origins }
      return agent.answer(answers, childOptions)
    },
    goOn: () => agent.executeTurn(null, options),
    begin: () => agent.executeTurn(message, { ...options, key: `call:${name}` }),
    shutdown: () => agent.shutdown(),
  }
  const outcome = withOutput(config, await runChild(child, below))
  const { totals } = await loadSession(ports.store, key)
  const seen = await newestSightings(ports.store, key)
  return {
    outcome: attachCause({ ...outcome, usage: totals.usage }, outcome.cause),
    output: config.output === undefined ? outcome.text : outcome.output,
    ...(seen.length === 0 ? {} : { seen }),
  }
}

/** A completed turn without the configured output, which a hook stopped, is a failure for its caller. */
function withOutput({ output }: SubAgentConfig, outcome: TurnOutcome): TurnOutcome {
  if (output === undefined || !isComplete(outcome) || outcome.output !== undefined) return outcome
  const message = `${outcome.stopped?.by ?? 'A hook'} stopped the agent before it gave its output.`
  return { ...outcome, status: 'failed', reason: 'failed', error: { code: 'invalid-output', message } }
}
