/** Writes the parts of one turn as events of AG-UI. Every message, call and step that it opens is ended before the run is. */
import type { TokenUsage } from '@ag-ui/core'
import type { EntryData, Json, RequestData, Sighting } from '../../protocol/index.ts'
import type { ConversationPart } from '../conversation-parts.ts'
import { interruptOf, isClientCall } from './interrupts.ts'
import type { AgUiEvent } from './wire.ts'

export interface RunIds {
  readonly threadId: string
  readonly runId: string
}

type PartOf<T extends ConversationPart['type']> = Extract<ConversationPart, { readonly type: T }>
type Handlers = {
  readonly [T in ConversationPart['type']]?: (part: PartOf<T>) => readonly AgUiEvent[]
}

export class RunEvents {
  readonly #ids: RunIds
  readonly #open = new Set<string>()
  /** Names of open steps, by task. */
  readonly #steps = new Map<string, string>()
  /** The calls that wait for requests. */
  readonly #waiting = new Map<string, string>()
  readonly #requests = new Map<string, RequestData>()
  /** Things that tools of this run have shown. */
  readonly shown: Sighting[] = []
  readonly #handlers: Handlers = {
    text: ({ id, text }) => [
      ...this.#opened(id, { type: 'TEXT_MESSAGE_START', messageId: id, role: 'assistant' }),
      { type: 'TEXT_MESSAGE_CONTENT', messageId: id, delta: text },
    ],
    'text.end': ({ id }) => [{ type: 'TEXT_MESSAGE_END', messageId: id }],
    reasoning: ({ id, text }) => [
      ...this.#opened(id, { type: 'REASONING_START', messageId: id }),
      ...this.#opened(`${id} message`, {
        type: 'REASONING_MESSAGE_START',
        messageId: id,
        role: 'reasoning',
      }),
      { type: 'REASONING_MESSAGE_CONTENT', messageId: id, delta: text },
    ],
    'reasoning.end': ({ id }) => [
      { type: 'REASONING_MESSAGE_END', messageId: id },
      { type: 'REASONING_END', messageId: id },
    ],
    call: ({ id, callId, tool, args }) => [
      { type: 'TOOL_CALL_START', toolCallId: callId, toolCallName: tool, parentMessageId: id },
      { type: 'TOOL_CALL_ARGS', toolCallId: callId, delta: JSON.stringify(args) },
      { type: 'TOOL_CALL_END', toolCallId: callId },
    ],
    progress: ({ callId, progress }) => [custom('holdfast.progress', { callId, progress })],
    result: ({ callId, status, output, seen }) => {
      this.shown.push(...seen)
      return [
        {
          type: 'TOOL_CALL_RESULT',
          messageId: `t-${callId}`,
          toolCallId: callId,
          role: 'tool',
          content: contentOf(output),
          metadata: { status },
        },
      ]
    },
    step: ({ task, node }) => {
      // A name may be open once: a node that runs several times in one step has the names of its tasks.
      const stepName = [...this.#steps.values()].includes(node) ? task : node
      this.#steps.set(task, stepName)
      return [{ type: 'STEP_STARTED', stepName }]
    },
    'step.end': ({ task }) => this.#endStep(task),
    request: ({ request, callId }) => {
      this.#requests.set(request.requestId, request)
      if (callId !== undefined) this.#waiting.set(request.requestId, callId)
      return []
    },
    'request.end': ({ requestId }) => {
      this.#requests.delete(requestId)
      return []
    },
    artifact: ({ change }) => {
      const { artifactId, kind, name, version } = change
      return [{ type: 'CUSTOM', name: 'holdfast.artifact', value: { artifactId, kind, name, version } }]
    },
    warning: ({ code, message }) => [custom('holdfast.warning', { code, message })],
  }

  constructor({ threadId, runId }: RunIds) {
    this.#ids = { threadId, runId }
  }

  /** The requests of this turn that are still open after it. */
  get requests(): readonly RequestData[] {
    return [...this.#requests.values()]
  }

  part(part: ConversationPart): readonly AgUiEvent[] {
    const handle = this.#handlers[part.type] as ((part: ConversationPart) => readonly AgUiEvent[]) | undefined
    return handle?.(part) ?? []
  }

  /** `requests`: those that are open after the turn. */
  end(end: EntryData['turn.end'], requests: readonly RequestData[]): readonly AgUiEvent[] {
    const steps = [...this.#steps.keys()].flatMap((task) => this.#endStep(task))
    return [...steps, this.#last(end, requests)]
  }

  #last(end: EntryData['turn.end'], requests: readonly RequestData[]): AgUiEvent {
    const { outcome, error, output, limit } = end
    const usage = [usageOf(end)]
    if (outcome === 'failed') {
      const { code = 'failed', message = 'The run failed.' } = (error ?? {}) as Record<string, string>
      return { type: 'RUN_ERROR', code, message, usage }
    }
    const finished = { type: 'RUN_FINISHED', ...this.#ids, usage } as const
    if (outcome === 'cancelled') return { ...finished, outcome: { type: 'cancelled' } }
    if (outcome === 'input-required' || outcome === 'auth-required') return this.#paused(finished, requests)
    return {
      ...finished,
      outcome: { type: 'success' },
      ...(output === undefined ? {} : { result: output }),
      ...(outcome === 'stop' ? {} : { metadata: { reason: outcome, ...(limit ? { limit } : {}) } }),
    }
  }

  /** Calls of client tools are pending calls: the client runs them and sends their results with the next run. */
  #paused(
    finished: Extract<AgUiEvent, { type: 'RUN_FINISHED' }>,
    requests: readonly RequestData[],
  ): AgUiEvent {
    const asked = requests.filter((request) => !isClientCall(request))
    if (asked.length > 0)
      return {
        ...finished,
        outcome: {
          type: 'interrupt',
          interrupts: asked.map((request) => interruptOf(request, this.#callOf(request))),
        },
      }
    const calls = requests.flatMap((request) => this.#callOf(request) ?? [])
    return { ...finished, outcome: { type: 'success', pendingToolCallIds: calls } }
  }

  #callOf({ requestId, callId }: RequestData): string | undefined {
    return this.#waiting.get(requestId) ?? callId
  }

  #opened(name: string, event: AgUiEvent): readonly AgUiEvent[] {
    if (this.#open.has(name)) return []
    this.#open.add(name)
    return [event]
  }

  #endStep(task: string): readonly AgUiEvent[] {
    const stepName = this.#steps.get(task)
    this.#steps.delete(task)
    return stepName === undefined ? [] : [{ type: 'STEP_FINISHED', stepName }]
  }
}

export function contentOf(output: Json): string {
  return typeof output === 'string' ? output : JSON.stringify(output)
}

function custom(name: string, value: Json): AgUiEvent {
  return { type: 'CUSTOM', name, value }
}

function usageOf({ usage }: EntryData['turn.end']): TokenUsage {
  const { inputTokens, outputTokens, cachedTokens } = usage
  return {
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    cachedInputTokens: cachedTokens,
  }
}
