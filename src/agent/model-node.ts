/** One model call as a node of a graph: messages of the state in, the reply out (R17). */
import { type ChildContext, type ChildResult, isComplete } from '../drive/index.ts'
import { isKnown, loadSession, readWindow, transcript } from '../journal/index.ts'
import {
  type AssistantPart,
  invalidOption,
  type Json,
  type KnownEntry,
  type Message,
} from '../protocol/index.ts'
import { windowOf } from './message-window.ts'
import { MESSAGES, type MessagesNode } from './messages-node.ts'
import { checkSubAgent, type EndedRun, runBelow, type SubAgentConfig } from './run-below.ts'

/** Without a memory of its own: the state has the messages. */
export type ModelNodeConfig = Omit<
  SubAgentConfig,
  'output' | 'outputRetries' | 'toolConcurrency' | 'whileBusy'
>

const NO_ROUND: readonly (keyof SubAgentConfig)[] = ['toolConcurrency']

/**
 * Calls the model once with the messages of the state, and returns its reply. The calls in it are not run: a `toolNode`
 * runs them. By default its input is the channel `messages`, and its reply is appended there.
 *
 * @example
 * graph({ state: { messages: list<Message>() } })
 *   .addNode('agent', modelNode({ model: 'openai/gpt-4.1-mini', systemPrompt: 'Be brief.', tools }))
 *   .addNode('tools', toolNode({ tools }))
 */
export function modelNode(config: ModelNodeConfig): MessagesNode {
  checkSubAgent('modelNode() takes a config as for an Agent.', config)
  const unused = NO_ROUND.find((name) => (config as SubAgentConfig)[name] !== undefined)
  if (unused !== undefined)
    throw invalidOption(unused, 'cannot be set for modelNode(), which runs no calls: give it to toolNode()')
  if ((config as SubAgentConfig).output !== undefined)
    throw invalidOption('output', 'cannot be set for modelNode(): use agentNode(), which asks again')
  return { '~channel': MESSAGES, '~run': (below, input) => callModel(config, input, below) }
}

async function callModel(
  config: ModelNodeConfig,
  input: readonly Message[],
  below: ChildContext,
): Promise<ChildResult<readonly Message[]>> {
  const history = await windowOf('The input of modelNode()', input, config)
  const run = await runBelow({ config, below, nodeTurn: { kind: 'reply', history } })
  return isComplete(run.result.outcome) ? { ...run.result, output: await replyOf(run) } : run.result
}

/** The reply with the arguments as hooks have edited them, the results of calls that they settled, and their notes. */
async function replyOf({ store, key }: EndedRun): Promise<readonly Message[]> {
  const session = await loadSession(store, key)
  const entries = await readWindow(store, key, { session })
  const own = transcript(entries)
  const reply = own.findLastIndex(({ role }) => role === 'assistant')
  if (reply < 0) return []
  const open = new Set(entries.filter(isKnown).flatMap(handedOn))
  const edited = new Map(entries.filter(isKnown).flatMap(editedArgs))
  return own.slice(reply).flatMap((message): readonly Message[] => {
    if (message.role === 'assistant')
      return [{ ...message, content: message.content.map((part) => withArgs(part, edited)) }]
    if (message.role !== 'tool') return [message]
    const content = message.content.filter(({ callId }) => !open.has(callId))
    return content.length === 0 ? [] : [{ ...message, content }]
  })
}

function handedOn(entry: KnownEntry): readonly string[] {
  return entry.type === 'turn.end' ? (entry.data.handedOn ?? []) : []
}

function editedArgs(entry: KnownEntry): readonly (readonly [string, Json])[] {
  return entry.type === 'phase' ? Object.entries(entry.data.changes?.args ?? {}) : []
}

function withArgs(part: AssistantPart, edited: ReadonlyMap<string, Json>): AssistantPart {
  if (part.type !== 'tool-call' || !edited.has(part.callId)) return part
  const { malformed: _, ...call } = part
  return { ...call, args: edited.get(part.callId) ?? null }
}
