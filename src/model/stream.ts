/**
 * One call of a model, from the request to the whole reply. It ends when the caller wants it to, whatever the provider
 * does, and leaves nothing behind: no listener, no timer, no open stream, no rejection that nobody handles. Whether a
 * failed call is repeated is decided elsewhere.
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
import { hashedPrompt, wireId } from './prompt.ts'
import { readTrouble } from './provider-errors.ts'
import { sentHashes } from './sent-hashes.ts'
import { estimateUsage, reportedUsage } from './usage.ts'
import { adaptCall } from './vendors.ts'

export interface ModelRequest {
  readonly model: LanguageModel
  readonly system?: string
  readonly messages: readonly Message[]
  readonly tools: readonly ToolSpec[]
  readonly settings: ModelSettings
  /** For the whole call; 10 minutes unless said otherwise, and for ever if it is Infinity. */
  readonly timeoutMs?: number
  readonly prices?: PriceTable
  readonly signal: AbortSignal
  readonly ids: Ids
  readonly timer: Timer
  /** What tools say to people, by call; sent to models with structured context only. */
  readonly displays?: ReadonlyMap<string, string>
  /** What is known of things that have ids; sent to the same models, which get no text about it. */
  readonly known?: GroundingContext
  /** Is told what is sent, by the first of several requests. */
  readonly record?: { sent: SentHashes | undefined }
  /** Called while the reply arrives, and never after the call has ended. It should not throw. */
  readonly onDelta: (delta: ModelDelta) => void
}

export interface ModelReply {
  readonly content: readonly AssistantPart[]
  /** Why the model stopped: `stop`, `tool-calls`, `length`, `content-filter`, `other` … */
  readonly finish: string
  /** Who replied, as `provider/model`. */
  readonly model: string
  readonly usage: Usage
}

const TIMEOUT_MS = 600_000

/** Asks the model once. Rejects with a `ModelFailure` and nothing else. */
export function streamModel(request: ModelRequest): Promise<ModelReply> {
  return new Call(request).run()
}

type Reader = ReadableStreamDefaultReader<ModelStreamPart>

class Call {
  readonly #request: ModelRequest
  readonly #name: string
  readonly #assembly: Assembly
  readonly #answer: PromiseWithResolvers<ModelReply> = Promise.withResolvers<ModelReply>()
  /** Tells the provider to stop. */
  readonly #stop = new AbortController()
  #endTimeout: (() => void) | undefined
  #reader: Reader | undefined
  #asked = false
  #settled = false

  constructor(request: ModelRequest) {
    this.#request = request
    this.#name = modelName(request.model)
    this.#assembly = new Assembly(request.ids, request.onDelta)
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
      if (record !== undefined) record.sent ??= sentHashes(model, call, hash)
      this.#asked = true
      const { stream } = await model.doStream(call)
      this.#reader = stream.getReader()
      if (this.#settled) drop(this.#reader)
      else await this.#read(this.#reader)
    } catch (error) {
      this.#trouble(error)
    }
  }

  #trouble(error: unknown): void {
    const trouble = readTrouble(error, this.#reader !== undefined)
    // What packages say about a broken connection, "failed to process successful response", helps nobody.
    if (trouble.kind === 'cut-off') this.#cutOff(error)
    else this.#fail(trouble.kind, { ...trouble, cause: error })
  }

  async #read(reader: Reader): Promise<void> {
    for (;;) {
      const { done, value } = await reader.read()
      if (this.#settled) return
      if (done) {
        this.#cutOff()
        return
      }
      if (value.type === 'error') {
        this.#trouble(value.error)
        return
      }
      if (value.type === 'finish') {
        this.#finish(value)
        void drain(reader)
        return
      }
      this.#assembly.add(value)
    }
  }

  #cutOff(cause?: unknown): void {
    const message = `The reply of ${this.#name} ended before it was complete.`
    this.#fail('cut-off', cause === undefined ? { message } : { message, cause })
  }

  /** Some packages finish the stream by themselves when it breaks off; then nobody has said why, or what it took. */
  #finish({ finishReason, usage }: ModelStreamPart): void {
    const finish = unified(finishReason)
    const reported = reportedUsage(this.#name, usage, this.#request.prices)
    if (finish === 'error') {
      const raw = finishReason?.raw === undefined ? '' : ` (${finishReason.raw})`
      const message = `The provider ended the reply of ${this.#name} with an error${raw}.`
      this.#fail('unknown', { message, retryable: true })
      return
    }
    if (finish === 'interrupted' || (finish === 'other' && !finishReason?.raw && reported === undefined)) {
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

  /** Once a reply has begun, or when we left before the provider could refuse, it may have worked for us. */
  #maybeCharged(kind: FailureKind): boolean {
    return this.#reader !== undefined || (this.#asked && (kind === 'aborted' || kind === 'timeout'))
  }

  #estimate(): Usage {
    const { prices } = this.#request
    const { chars } = this.#assembly
    return estimateUsage(this.#name, this.#request, prices === undefined ? { chars } : { chars, prices })
  }

  #settle(): void {
    this.#settled = true
    this.#request.signal.removeEventListener('abort', this.#abort)
    this.#endTimeout?.()
  }
}

/** Interface versions before the final one had the reason as a plain text, and so have some models. */
function unified(reason: unknown): string {
  if (typeof reason === 'string') return reason
  const text = (reason as { unified?: unknown } | undefined)?.unified
  return typeof text === 'string' && text !== '' ? text : 'other'
}

/** Reads on to the end, which is near, so that the connection can be used again. */
async function drain(reader: Reader): Promise<void> {
  try {
    while (!(await reader.read()).done);
  } catch {
    // the reply is complete
  }
}

function drop(reader: Reader): void {
  reader.cancel().catch(() => {})
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** Only what a call has; whatever else a caller keeps beside its settings, a key above all, stays here. */
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

/** No vendor takes the choice of a tool that is not in the request: without it, the model chooses among the others. */
function choice(
  wanted: ToolChoice = 'auto',
  tools: readonly ToolSpec[],
): NonNullable<ModelCall['toolChoice']> {
  if (typeof wanted === 'string') return { type: wanted }
  return tools.some(({ name }) => name === wanted.tool)
    ? { type: 'tool', toolName: wanted.tool }
    : { type: 'auto' }
}
