/** An agent that others run: as a node of a graph, or as a tool of another agent (R17). It has no conversation of its own. */
import {
  type AnswerOrigins,
  attachCause,
  type ChildContext,
  type ChildResult,
  HANDED_DOWN,
  leastLimits,
  metadataBelow,
  type Runnable,
  runChild,
} from '../drive/index.ts'
import { loadSession } from '../journal/index.ts'
import { childKey, defined, HoldfastError, invalidOption } from '../protocol/index.ts'
import { Agent } from './agent.ts'
import { type AgentConfig, setUp } from './config.ts'
import { newestSightings } from './sightings.ts'
import type { TurnOptions } from './turn-options.ts'

/** What a sub-agent is made of: an agent without a conversation of its own. */
export type SubAgentConfig = Omit<AgentConfig, FromAbove> & {
  /** Never there: it follows from the call. So an `Agent` is none of these. */
  readonly contextId?: never
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

const FROM_ABOVE: readonly FromAbove[] = [
  ...(['contextId', 'owner', 'store', 'autoSave', 'allow'] as const),
  ...(['credentials', 'clock', 'timer', 'ids'] as const),
]

/**
 * Takes what it is asked, gives the last thing that it said. Each task of the graph that it is a node of is a conversation
 * of its own, below that of the graph.
 *
 * @example
 * graph.addNode('research', agentNode({ model: 'openai/gpt-4.1-mini', settings: { temperature: 0.3 }, tools: [search] }), {
 *   input: (state) => state.question,
 *   output: (text) => ({ answer: text }),
 * })
 */
export function agentNode(config: SubAgentConfig): Runnable<string, string> {
  checkSubAgent('agentNode() takes a config as for an Agent.', config)
  return { '~run': (below, message) => runAgent(config, message, below) }
}

/** What would make every call fail is said where it was written. */
export function checkSubAgent(what: string, config: unknown): void {
  if (typeof config !== 'object' || config === null)
    throw new HoldfastError('invalid-option', { message: what })
  if (config instanceof Agent)
    throw new HoldfastError('invalid-option', {
      message: `${what} This is not an Agent: write what it is made of, { model, systemPrompt, tools }. Each call has a conversation of its own.`,
    })
  const given = FROM_ABOVE.find((name) => (config as Partial<AgentConfig>)[name] !== undefined)
  if (given !== undefined)
    throw invalidOption(
      given,
      'cannot be set for a sub-agent: it follows from whoever calls it. Leave it out',
    )
  setUp({ ...config, contextId: 'sub-agent' })
}

export async function runAgent(
  config: SubAgentConfig,
  message: string,
  below: ChildContext,
): Promise<ChildResult<string>> {
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
      const handed = { ...options, [HANDED_DOWN]: origins }
      return agent.answer(answers, handed)
    },
    goOn: () => agent.executeTurn(null, options),
    begin: () => agent.executeTurn(message, { ...options, key: `call:${name}` }),
    shutdown: () => agent.shutdown(),
  }
  const outcome = await runChild(child, below)
  const { totals } = await loadSession(ports.store, key)
  const seen = await newestSightings(ports.store, key)
  return {
    outcome: attachCause({ ...outcome, usage: totals.usage }, outcome.cause),
    output: outcome.text,
    ...(seen.length === 0 ? {} : { seen }),
  }
}
