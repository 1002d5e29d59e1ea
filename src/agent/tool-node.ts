/**
 * A round of tool calls as a node of a graph, under every rule of tools (R17). The rounds of a node share a conversation,
 * so that it knows which calls had an unknown outcome, which ids were shown, and what was chosen.
 */
import { attachCause, type ChildContext, type ChildResult, type TurnOutcome } from '../drive/index.ts'
import { loadSession, readWindow, transcript } from '../journal/index.ts'
import {
  invalidOption,
  type Message,
  NO_USAGE,
  type ToolCallPart,
  type ToolResultPart,
} from '../protocol/index.ts'
import { checkedMessages, pendingCalls, windowOf } from './message-window.ts'
import { MESSAGES, type MessagesNode } from './messages-node.ts'
import { checkSubAgent, type EndedRun, runBelow, type SubAgentConfig } from './run-below.ts'

/** `limits` hold for one round. `toolCalls`: calls beyond it are not run, and their results say so. */
export type ToolNodeConfig = Pick<
  SubAgentConfig,
  | 'name'
  | 'tools'
  | 'toolConcurrency'
  | 'limits'
  | 'on'
  | 'plugins'
  | 'entities'
  | 'grounding'
  | 'requestTtlMs'
  | 'graceMs'
  | 'maxClaims'
  | 'metadata'
>

/** The options of an agent that only a model call reads. */
const NO_MODEL: readonly (keyof SubAgentConfig)[] = [
  ...(['model', 'settings', 'systemPrompt', 'output', 'outputRetries', 'maxMessages', 'maxTokens'] as const),
  ...(['autoCompact', 'toolResultTurns', 'warnAtPercent', 'whileBusy'] as const),
]

/**
 * Runs the calls of the last reply that have no result yet, and returns their results. By default its input is the
 * channel `messages`, and the results are appended there; a `Send` may bring other messages.
 *
 * @example
 * graph.addNode('tools', toolNode({ tools: [search, save] }))
 */
export function toolNode(config: ToolNodeConfig): MessagesNode {
  checkSubAgent('toolNode() takes { tools }.', config)
  const model = NO_MODEL.find((name) => (config as SubAgentConfig)[name] !== undefined)
  if (model !== undefined)
    throw invalidOption(model, 'cannot be set for toolNode(), which calls no model: give it to modelNode()')
  return { '~channel': MESSAGES, '~run': (below, input) => runTools(config, input, below) }
}

async function runTools(
  config: ToolNodeConfig,
  input: readonly Message[],
  below: ChildContext,
): Promise<ChildResult<readonly Message[]>> {
  const messages = checkedMessages('The input of toolNode()', input)
  const calls = pendingCalls(messages)
  if (calls.length === 0) return NOTHING
  const at = messages.findLastIndex(({ role }) => role === 'assistant')
  const history = await windowOf('The input of toolNode()', messages.slice(0, at), {})
  const nodeTurn = { kind: 'round', history, reply: { content: calls } } as const
  const run = await runBelow({ config, below, nodeTurn, lasts: true, sharesArtifacts: true })
  const { outcome } = run.result
  if (outcome.status !== 'completed') return run.result
  return { ...run.result, outcome: withoutLimit(outcome), output: await resultsOf(run, calls) }
}

const NOTHING: ChildResult<readonly Message[]> = {
  outcome: {
    reason: 'stop',
    status: 'completed',
    turn: 0,
    text: '',
    usage: NO_USAGE,
    durationMs: 0,
    requests: [],
  },
  output: [],
}

/** A limit leaves every call settled, so the round is over. */
function withoutLimit(outcome: TurnOutcome): TurnOutcome {
  const { limit: _, maximum: _maximum, ...rest } = outcome
  return attachCause(rest, outcome.cause)
}

/** The results as prompts show them, edits of hooks included, and the notes of hooks. */
async function resultsOf(
  { store, key }: EndedRun,
  calls: readonly ToolCallPart[],
): Promise<readonly Message[]> {
  const session = await loadSession(store, key)
  const own = transcript(await readWindow(store, key, { session }))
  const ids = new Set(calls.map(({ callId }) => callId))
  const at = own.findLastIndex(
    (message) => message.role === 'tool' && message.content.some(({ callId }) => ids.has(callId)),
  )
  const [last, ...rest] = at < 0 ? [] : own.slice(at)
  if (last?.role !== 'tool') return []
  const shown = new Set(last.content.map(({ callId }) => callId))
  const earlier = calls.filter(({ callId }) => !shown.has(callId))
  return [
    { ...last, content: [...earlier.flatMap((call) => resultBefore(own, at, call)), ...last.content] },
    ...rest,
  ]
}

/** The result of a call that had ended when its round was forked: the fork has run the other calls in a round of their own. */
function resultBefore(
  messages: readonly Message[],
  at: number,
  { callId }: ToolCallPart,
): readonly ToolResultPart[] {
  const results = messages.slice(0, at).flatMap((one) => (one.role === 'tool' ? one.content : []))
  return results.filter((result) => result.callId === callId).slice(-1)
}
