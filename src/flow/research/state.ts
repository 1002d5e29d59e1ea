/** The state of the research graph: its channels, their initial values, and how messages are read. */
import {
  type Channel,
  type ListChannel,
  list,
  type MergeChannel,
  merge,
  reduce,
  type StateOf,
  type UpdateOf,
  value,
} from '../../graph/index.ts'
import type { AssistantPart, Message } from '../../protocol/index.ts'
import type { ResearchContext } from './findings.ts'

export type ResearchChannels = {
  readonly messages: ListChannel<Message>
  readonly session_id: Channel<string>
  readonly next_agent: Channel<string>
  readonly last_agent: Channel<string | null>
  readonly clarification_needed: Channel<boolean>
  readonly clarification_count: Channel<number>
  readonly missing_context: Channel<readonly string[]>
  readonly context: MergeChannel<ResearchContext>
  /** Updates are added. */
  readonly iteration: Channel<number>
  readonly final_answer: Channel<string | null>
  readonly confidence_score: Channel<number | null>
}

export type ResearchState = StateOf<ResearchChannels>
export type ResearchUpdate = UpdateOf<ResearchChannels>

/** The channels of the state, for a graph of your own: `graph({ state: { ...RESEARCH_CHANNELS, … } })`. */
export const RESEARCH_CHANNELS: ResearchChannels = {
  messages: list<Message>(),
  session_id: value(''),
  next_agent: value('orchestrator'),
  last_agent: value<string | null>(null),
  clarification_needed: value(false),
  clarification_count: value(0),
  missing_context: value<readonly string[]>([]),
  context: merge<ResearchContext>({}),
  iteration: reduce((sum: number, more: number) => sum + more, 0),
  final_answer: value<string | null>(null),
  confidence_score: value<number | null>(null),
}

/** The state before the first node, for agents that run without a graph. */
export function initialState(messages: readonly Message[], session_id = ''): ResearchState {
  return {
    messages,
    session_id,
    next_agent: 'orchestrator',
    last_agent: null,
    clarification_needed: false,
    clarification_count: 0,
    missing_context: [],
    context: {},
    iteration: 0,
    final_answer: null,
    confidence_score: null,
  }
}

/** Empty without any: a caller over the network may set any JSON as a message, which stays in the state. */
export function textOf(message: Message): string {
  const { content } = Object(message) as Message
  if (typeof content === 'string') return content
  const parts = Array.isArray(content) ? (content as readonly AssistantPart[]) : []
  return parts.flatMap((part) => (part?.type === 'text' ? [part.text] : [])).join('')
}

/** The texts of the user, oldest first. */
export function userTexts(messages: readonly Message[]): readonly string[] {
  return messages.flatMap((message) => (message?.role === 'user' ? [textOf(message)] : []))
}

/** The newest messages, one line each: `User: …`, `AI: …`. */
export function formatHistory(messages: readonly Message[], maxHistory: number): string {
  return messages
    .slice(-maxHistory)
    .flatMap((message) => {
      if (message?.role === 'tool') return []
      return [`${message?.role === 'user' ? 'User' : 'AI'}: ${shortened(textOf(message))}`]
    })
    .join('\n')
}

/** The answer to the question before the newest one. The messages have what research wrote, not what the user read. */
export function answerBefore({ last_agent, final_answer, context }: ResearchState): string | null {
  return (last_agent === 'synthesis' ? final_answer : context.answer_before) ?? null
}

/** The conversation in a prompt: the newest messages, and the answer before. */
export function conversationText(state: ResearchState, maxHistory: number): string {
  const answer = answerBefore(state)
  const history = `# Conversation\n${formatHistory(state.messages, maxHistory)}`
  return answer === null ? history : `${history}\n\n# Answer before\n${shortened(answer)}`
}

const MOST_CHARS = 8000

/** A long message loses its middle. */
function shortened(text: string): string {
  if (text.length <= MOST_CHARS) return text
  const half = MOST_CHARS / 2
  return `${text.slice(0, half).toWellFormed()} […] ${text.slice(-half).toWellFormed()}`
}

export function aiMessage(text: string): Message {
  return { role: 'assistant', content: [{ type: 'text', text }] }
}
