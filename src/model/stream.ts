/**
 * One call of a model, from the request to the whole reply. Ends when the caller wants, whatever the provider does, and
 * leaves nothing behind: no listener, no timer, no open stream, no unhandled rejection. Does not decide on retries.
 */
import type { Ids, Timer } from '../base/index.ts'
import type { AssistantPart, JsonObject, Message, SentHashes, Usage } from '../protocol/index.ts'
import { NO_USAGE } from '../protocol/index.ts'
import { Assembly, type ModelDelta } from './assemble.ts'
import { type FailureKind, type FailureOptions, ModelFailure } from './failure.ts'
import { type GroundingContext, withCallIds } from './grounding-context.ts'
import type {
  LanguageModel,
  ModelCall,
  ModelStreamPart,
  PromptMessage,
  ToolDeclaration,
} from './language-model.ts'
import { modelName } from './name.ts'
import type { ModelSettings, ToolChoice, ToolSpec } from './options.ts'
import type { PriceTable } from './prices.ts'
import { hashedPrompt, type PromptLines, wireId } from './prompt.ts'
import { readProviderError } from './provider-errors.ts'
import { sentHashes } from './sent-hashes.ts'
import { estimateUsage, reportedUsage } from './usage.ts'
import { adaptCall, hasJsonMode } from './vendors.ts'

export interface ModelRequest {
  readonly model: LanguageModel
  readonly system?: string | undefined
  readonly messages: readonly Message[]
  /** The lines of the conversation's last prompt. */
  readonly lines?: PromptLines | undefined
  readonly tools: readonly ToolSpec[]
  readonly settings: ModelSettings
  /** The reply is a JSON object: the provider's JSON mode is used where it can be. */
  readonly json?: boolean
  /** The limit of the whole call. Default: 10 minutes; Infinity for none. */
  readonly timeoutMs?: number | undefined
  readonly prices?: PriceTable | undefined
  readonly signal: AbortSignal
  readonly ids: Ids
  readonly timer: Timer
  /** Display texts of tools, by call; sent to models with structured context only. */
  readonly displays?: ReadonlyMap<string, string>
  /** The grounding context; sent to the same models, which get no text about it. */
  readonly known?: GroundingContext
  /** Receives the hashes of the first of several requests. */
  readonly record?: { sent: SentHashes | undefined }
  /** Called while the reply arrives, and never after the call has ended. Must not throw. */
  readonly onDelta: (delta: ModelDelta) => void
}

export interface ModelReply {
  readonly content: readonly AssistantPart[]
  /** Why the model stopped: `stop`, `tool-calls`, `length`, `content-filter`, `other` … */
  readonly finish: string
  /** The replying model, as `provider/model`. */
  readonly model: string
  readonly usage: Usage
}

const TIMEOUT_MS = 600_000
const DRAIN_MS = 5_000
/** A stream that always has a part ready would keep timers and signals waiting: less than a millisecond of parts. */
const PARTS_PER_TICK = 64

/** Calls the model once. Rejects only with a `ModelFailure`. */
export function streamModel(request: ModelRequest): Promise<ModelReply> {
  return new Call(request).run()
}

type Reader = ReadableStreamDefaultReader<ModelStreamPart>

class Call {
  readonly #request: ModelRequest
  readonly #name: string
  readonly #assembly: Assembly
  readonly #answer: PromiseWithResolvers<ModelReply> = Promise.withResolvers<ModelReply>()
  /** Aborts the provider's request. */
  readonly #stop = new AbortController()
  #endTimeout: (() => void) | undefined
  #reader: Reader | undefined
  #sent = false
  #settled = false

  constructor(request: ModelRequest) {
    this.#request = request
    this.#name = modelName(request.model)
    this.#assembly = new Assembly(request.ids, request.onDelta, request.settings.thinkTags)
  }

  run(): Promise<ModelReply> {
    const { signal, timeoutMs = TIMEOUT_MS } = this.#request
    if (signal.aborted) this.#abort()
    else {
      signal.addEventListener('abort', this.#abort, { once: true })
      if (timeoutMs !== Infinity)
        this.#endTimeout = this.#request.timer.after(timeoutMs, () => this.#timeOut(timeoutMs))
      void this.#ask()
    }
    return this.#answer.promise
  }

  async #ask(): Promise<void> {
    try {
      const { model, record } = this.#request
      const { prompt, hash } = hashedPrompt(this.#request)
      const call = toCall(this.#request, prompt, this.#stop.signal)
      if (record !== undefined) record.sent ??= sentHashes(model, call, hash())
      this.#sent = true
      const { stream } = await model.doStream(call)
      this.#reader = stream.getReader()
      if (this.#settled) drop(this.#reader)
      else await this.#read(this.#reader)
    } catch (error) {
      this.#providerError(error)
    }
  }

  #providerError(error: unknown): void {
    const problem = readProviderError(error, this.#reader !== undefined)
    // The packages' message for a broken connection, "failed to process successful response", is misleading.
    if (problem.kind === 'cut-off') this.#cutOff(error)
    else this.#fail(problem.kind, { ...problem, cause: error })
  }

  async #read(reader: Reader): Promise<void> {
    for (let parts = 1; ; parts++) {
      const { done, value } = await reader.read()
      if (parts % PARTS_PER_TICK === 0) await nextTick()
      if (this.#settled) return
      if (done) {
        this.#cutOff()
        return
      }
      if (value.type === 'error') {
        this.#providerError(value.error)
        return
      }
      if (value.type === 'finish') {
        this.#finish(value)
        void this.#drain(reader)
        return
      }
      this.#assembly.add(value)
    }
  }

  /** Reads to the end, which is near, so that the connection can be reused; leaves a provider that does not end it. */
  async #drain(reader: Reader): Promise<void> {
    const stopWaiting = this.#request.timer.after(DRAIN_MS, () => {
      this.#stop.abort()
      drop(reader)
    })
    try {
      for (let parts = 1; !(await reader.read()).done; parts++)
        if (parts % PARTS_PER_TICK === 0) await nextTick()
    } catch {
      // the reply is complete
    }
    stopWaiting()
  }

  #cutOff(cause?: unknown): void {
    const message = `The reply of ${this.#name} ended before it was complete.`
    this.#fail('cut-off', cause === undefined ? { message } : { message, cause })
  }

  /** Some packages finish a broken stream themselves, without the provider's reason. */
  #finish({ finishReason, usage }: ModelStreamPart): void {
    const finish = unified(finishReason)
    const reported = reportedUsage(this.#name, usage, this.#request.prices)
    if (finish === 'error') {
      const raw = finishReason?.raw === undefined ? '' : ` (${finishReason.raw})`
      const message = `The provider ended the reply of ${this.#name} with an error${raw}.`
      this.#fail('unknown', { message, retryable: true })
      return
    }
    const isUnsaid = finishReason?.unified === 'other' || reported === undefined
    if (finish === 'interrupted' || (finish === 'other' && !finishReason?.raw && isUnsaid)) {
      this.#cutOff()
      return
    }
    const content = this.#assembly.content()
    this.#settle()
    this.#answer.resolve({ content, finish, model: this.#name, usage: reported ?? this.#estimate() })
  }

  readonly #abort = (): void => {
    this.#fail('aborted', { message: `The call of ${this.#name} was aborted.` })
  }

  #timeOut(timeoutMs: number): void {
    this.#fail('timeout', { message: `${this.#name} did not answer completely within ${timeoutMs} ms.` })
  }

  #fail(kind: FailureKind, options: FailureOptions): void {
    if (this.#settled) return
    this.#settle()
    const failure = new ModelFailure(kind, {
      ...options,
      partial: this.#assembly.partial(),
      usage: this.#maybeCharged(kind) ? this.#estimate() : NO_USAGE,
    })
    this.#answer.reject(failure)
    this.#stop.abort(failure)
    if (this.#reader) drop(this.#reader)
  }

  /** Once a reply has begun, or if we left before the provider could refuse, the call may be charged. */
  #maybeCharged(kind: FailureKind): boolean {
    return this.#reader !== undefined || (this.#sent && (kind === 'aborted' || kind === 'timeout'))
  }

  #estimate(): Usage {
    const { prices } = this.#request
    const { chars } = this.#assembly
    return estimateUsage(this.#name, this.#request, { chars, prices })
  }

  #settle(): void {
    this.#settled = true
    this.#request.signal.removeEventListener('abort', this.#abort)
    this.#endTimeout?.()
  }
}

/** Earlier interface versions, and some models, have the reason as a plain text. */
function unified(reason: unknown): string {
  if (typeof reason === 'string') return reason
  const text = (reason as { unified?: unknown } | undefined)?.unified
  return typeof text === 'string' && text !== '' ? text : 'other'
}

/** Lets timers and I/O run. */
function nextTick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function drop(reader: Reader): void {
  reader.cancel().catch(() => {})
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** Copies the known fields only: other settings of the caller, such as a key, must not reach the provider. */
function toCall(
  request: ModelRequest,
  prompt: readonly PromptMessage[],
  abortSignal: AbortSignal,
): ModelCall {
  const { model, tools, settings } = request
  const call: Writable<ModelCall> = { prompt, abortSignal }
  if (tools.length > 0) {
    call.tools = tools.map(declaration)
    call.toolChoice = choice(settings.toolChoice, tools)
  }
  for (const name of PASSED_ON) copy(name, settings, call)
  if (model.specificationVersion !== 'v3') copy('reasoning', settings, call)
  if (request.json && (settings.jsonMode ?? hasJsonMode(model.provider, tools.length > 0)))
    call.responseFormat = { type: 'json' }
  const { providerOptions } = settings
  if (providerOptions !== undefined) call.providerOptions = providerOptions
  if (model.capabilities?.structuredContext)
    call.providerOptions = { ...providerOptions, [model.provider]: structuredContext(request) }
  return adaptCall(model.provider, call)
}

function structuredContext({ displays = new Map(), known, messages }: ModelRequest): JsonObject {
  const told = Object.fromEntries([...displays].map(([callId, text]) => [wireId(callId), text]))
  // It is data through and through; only its interfaces are not aliases.
  const things = known === undefined ? {} : (withCallIds(known, wireId) as unknown as JsonObject)
  return { displays: told, unknown: unknownCalls(messages), ...things }
}

/** A prompt shows an unknown outcome as a failure, because vendors have no other form for it. */
function unknownCalls(messages: readonly Message[]): string[] {
  return messages.flatMap(({ role, content }) => {
    if (role !== 'tool') return []
    return content.filter(({ status }) => status === 'unknown').map(({ callId }) => wireId(callId))
  })
}

const PASSED_ON = [
  'temperature',
  'maxOutputTokens',
  'topP',
  'topK',
  'stopSequences',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'headers',
] as const satisfies readonly (keyof ModelSettings & keyof ModelCall)[]

type Setting = keyof ModelSettings & keyof ModelCall

function copy(name: Setting, from: ModelSettings, to: Writable<ModelCall>): void {
  if (from[name] !== undefined) Object.assign(to, { [name]: from[name] })
}

function declaration({ name, description, parameters }: ToolSpec): ToolDeclaration {
  return { type: 'function', name, description, inputSchema: parameters }
}

/** No vendor accepts the choice of an undeclared tool: then the model chooses among the others. */
function choice(
  requested: ToolChoice = 'auto',
  tools: readonly ToolSpec[],
): NonNullable<ModelCall['toolChoice']> {
  if (typeof requested === 'string') return { type: requested }
  return tools.some(({ name }) => name === requested.tool)
    ? { type: 'tool', toolName: requested.tool }
    : { type: 'auto' }
}
