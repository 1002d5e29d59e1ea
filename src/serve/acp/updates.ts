/** Writes the parts of a conversation as updates of a session. */
import type { SessionUpdate, ToolCallStatus } from '@agentclientprotocol/sdk'
import type { Json, UserContent } from '../../protocol/index.ts'
import type { ConversationPart } from '../conversation-parts.ts'
import { planIn } from './plan.ts'
import { promptText } from './prompt.ts'
import { fieldsOf, shownCall, textContent } from './tool-calls.ts'

/** The tool of the task agent that gives the answer: it is shown as a message. */
const COMPLETION = 'attempt_completion'

interface OpenCall {
  readonly tool: string
  readonly args: Json
  readonly hasDiff: boolean
  status: ToolCallStatus
}

type PartOf<T extends ConversationPart['type']> = Extract<ConversationPart, { readonly type: T }>
type Handlers = { readonly [T in ConversationPart['type']]?: (part: PartOf<T>) => SessionUpdate[] }

export class SessionUpdates {
  readonly #cwd: string
  readonly #calls = new Map<string, OpenCall>()
  readonly #handlers: Handlers = {
    text: ({ id, text }) => [chunk('agent_message_chunk', text, id)],
    reasoning: ({ id, text }) => [chunk('agent_thought_chunk', text, id)],
    note: ({ id, text }) => [chunk('agent_thought_chunk', text, id)],
    warning: ({ message }) => [chunk('agent_thought_chunk', message)],
    call: ({ callId, tool, args }) => this.#call(callId, tool, args),
    'call.start': ({ callId }) => this.#status(callId, 'in_progress'),
    // The calls of a graph run in its next step.
    step: () => [...this.#calls.keys()].flatMap((callId) => this.#status(callId, 'in_progress')),
    progress: ({ callId, progress }) => {
      const text = typeof progress === 'string' ? progress : JSON.stringify(progress)
      const call = this.#calls.get(callId)
      if (call === undefined || call.hasDiff) return []
      call.status = 'in_progress'
      return [toolUpdate(callId, { status: 'in_progress', content: [textContent(text)] })]
    },
    result: (part) => this.#result(part),
  }

  constructor(cwd: string) {
    this.#cwd = cwd
  }

  part(part: ConversationPart): SessionUpdate[] {
    const entries = planIn(part)
    const handle = this.#handlers[part.type] as ((part: ConversationPart) => SessionUpdate[]) | undefined
    return [
      ...(entries === undefined ? [] : [{ sessionUpdate: 'plan' as const, entries }]),
      ...(handle?.(part) ?? []),
    ]
  }

  /** Messages of the person: the editor has those of its own prompts. */
  static user(content: UserContent, id: string): SessionUpdate {
    return chunk('user_message_chunk', typeof content === 'string' ? content : promptText(content), id)
  }

  #call(callId: string, tool: string, args: Json): SessionUpdate[] {
    const shown = shownCall(tool, args, this.#cwd)
    this.#calls.set(callId, { tool, args, hasDiff: shown.content.length > 0, status: 'pending' })
    if (tool === COMPLETION) return []
    return [{ sessionUpdate: 'tool_call', toolCallId: callId, status: 'pending', ...shown }]
  }

  #status(callId: string, status: ToolCallStatus): SessionUpdate[] {
    const call = this.#calls.get(callId)
    if (call === undefined || call.status === status || call.tool === COMPLETION) return []
    call.status = status
    return [toolUpdate(callId, { status })]
  }

  #result({ callId, status, output, display }: PartOf<'result'>): SessionUpdate[] {
    const call = this.#calls.get(callId)
    this.#calls.delete(callId)
    if (call?.tool === COMPLETION && status === 'ok') {
      const { result } = fieldsOf(call.args)
      return typeof result === 'string' ? [chunk('agent_message_chunk', result, `a-${callId}`)] : []
    }
    const text = display ?? (typeof output === 'string' ? output : JSON.stringify(output))
    return [
      toolUpdate(callId, {
        status: status === 'ok' ? 'completed' : 'failed',
        rawOutput: output,
        // The diff stays; a failed change has the reason instead.
        ...(call?.hasDiff && status === 'ok' ? {} : { content: [textContent(text)] }),
      }),
    ]
  }
}

type ChunkName = 'user_message_chunk' | 'agent_message_chunk' | 'agent_thought_chunk'

export function chunk(sessionUpdate: ChunkName, text: string, messageId?: string): SessionUpdate {
  return { sessionUpdate, content: { type: 'text', text }, ...(messageId === undefined ? {} : { messageId }) }
}

function toolUpdate(
  toolCallId: string,
  update: Omit<Extract<SessionUpdate, { sessionUpdate: 'tool_call_update' }>, 'sessionUpdate' | 'toolCallId'>,
): SessionUpdate {
  return { sessionUpdate: 'tool_call_update', toolCallId, ...update }
}
