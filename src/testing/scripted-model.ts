/**
 * A model that streams the replies of a script in the form of a provider, and records its calls. A call without a step
 * in the script fails with an error that says so.
 */
import { systemTimer, type Timer } from '../base/index.ts'
import type {
  LanguageModel,
  ModelCall,
  ModelStream,
  ModelStreamPart,
  PromptMessage,
  ToolDeclaration,
} from '../model/index.ts'
import {
  checkOptions,
  defined,
  invalidOption,
  type JsonObject,
  type OptionSet,
  shown,
} from '../protocol/index.ts'
import { whenAborted } from './when-aborted.ts'

/** One reply of the model. A string is a text reply; a function returns the step when it is called. */
export type ScriptedStep = string | ScriptedReply | ScriptedError | ScriptedStall | ScriptedFunction

export interface ScriptedReply {
  readonly text?: string
  readonly reasoning?: string
  readonly calls?: readonly ScriptedToolCall[]
  /** By default estimated from the lengths. */
  readonly usage?: {
    readonly inputTokens?: number
    readonly outputTokens?: number
    readonly cachedTokens?: number
  }
  /** By default `tool-calls` or `stop`. `none`: the stream ends without a finish, as when a connection breaks. */
  readonly finish?: string
  /** The text in exactly these pieces, instead of `text`. */
  readonly deltas?: readonly string[]
}

export interface ScriptedToolCall {
  readonly tool: string
  /** A string is sent verbatim, so that it need not be JSON. */
  readonly args?: JsonObject | string
}

export interface ScriptedError {
  /** `retryAfter` is in seconds, as in the header. */
  readonly error:
    | Error
    | { readonly status?: number; readonly message?: string; readonly retryAfter?: number }
  /** The text that arrives first. Without it the call itself is refused. */
  readonly after?: string
}

export interface ScriptedStall {
  /** Never answers; ends when it is aborted. */
  readonly stall: true
  readonly after?: string
}

export type ScriptedFunction = (request: ScriptedRequest) => ScriptedStep | Promise<ScriptedStep>

export interface ScriptedRequest {
  readonly prompt: readonly PromptMessage[]
  readonly tools: readonly ToolDeclaration[]
  /** The number of the call, from 1 on. */
  readonly call: number
}

export interface ScriptedCall {
  readonly prompt: readonly PromptMessage[]
  readonly tools: readonly ToolDeclaration[]
  /** All other settings, headers included. */
  readonly settings: Omit<ModelCall, 'prompt' | 'tools' | 'abortSignal'>
}

export interface ScriptedModelOptions {
  /** `provider/model`; `scripted/model` by default. */
  readonly name?: string
  /** Time from the call to the first part. */
  readonly latencyMs?: number
  readonly timer?: Timer
  /** Begins again after the last step. */
  readonly loop?: boolean
}

const OPTIONS: OptionSet<ScriptedModelOptions> = {
  place: 'ScriptedModel',
  options: { name: 'a text', latencyMs: 'a number', timer: 'an object', loop: 'true or false' },
}

const REPLY: Omit<OptionSet<ScriptedReply>, 'place'> = {
  options: {
    text: null,
    reasoning: null,
    calls: 'a list',
    usage: 'an object',
    finish: 'a text',
    deltas: 'a list',
  },
  foreign: {
    content: 'text',
    message: 'text',
    tool: 'calls: [{ tool, args }]',
    toolCalls: 'calls: [{ tool, args }]',
    tool_calls: 'calls: [{ tool, args }]',
  },
}

const CALL: Omit<OptionSet<ScriptedToolCall>, 'place'> = {
  options: { tool: 'a text', args: null },
  foreign: {
    name: 'tool',
    toolName: 'tool',
    input: 'args',
    arguments: 'args',
  },
}

const ERROR: Omit<OptionSet<Exclude<ScriptedError['error'], Error>>, 'place'> = {
  options: { status: 'a number', message: null, retryAfter: 'a number' },
  foreign: { statusCode: 'status' },
}

const USAGE: Omit<OptionSet<NonNullable<ScriptedReply['usage']>>, 'place'> = {
  options: { inputTokens: 'a number', outputTokens: 'a number', cachedTokens: 'a number' },
}

function checkScript(script: unknown): void {
  if (!Array.isArray(script))
    throw invalidOption(
      'The script',
      `must be a list of replies such as ['Hello.'], or a function, not ${shown(script)}`,
    )
  for (const [at, step] of script.entries()) checkStep(`Step ${at + 1} of the script`, step)
}

/** Rejects unknown fields: a misspelt step would be an empty reply. */
function checkStep(place: string, step: unknown): void {
  if (typeof step === 'string' || typeof step === 'function') return
  if (typeof step !== 'object' || step === null || Array.isArray(step))
    throw invalidOption(
      place,
      `must be a text, { text, calls }, { error }, { stall } or a function, not ${shown(step)}`,
    )
  const of = `of ${place[0]?.toLowerCase()}${place.slice(1)}`
  if ('error' in step) {
    checkOptions(step, { place, options: { error: 'an object', after: 'a text' } })
    if (!(step.error instanceof Error)) checkOptions(step.error, { place: `The error ${of}`, ...ERROR })
    return
  }
  if ('stall' in step) return checkOptions(step, { place, options: { stall: null, after: 'a text' } })
  checkOptions(step, { place, ...REPLY })
  const { usage = {}, calls = [] } = step as ScriptedReply
  checkOptions(usage, { place: `The usage ${of}`, ...USAGE })
  for (const [at, call] of calls.entries()) {
    checkOptions(call, { place: `Call ${at + 1} ${of}`, ...CALL })
    if (call.tool === undefined) throw invalidOption('tool', 'must name the tool to call, not be left out')
  }
}

/** The number of calls that endless scripts keep. */
const MOST_CALLS = 100

export class ScriptedModel implements LanguageModel {
  readonly specificationVersion = 'v3' as const
  readonly provider: string
  readonly modelId: string
  /** The calls, in order; the latest hundred if the script is endless. */
  readonly calls: ScriptedCall[] = []
  readonly #steps: readonly ScriptedStep[]
  readonly #endless: boolean
  readonly #latencyMs: number
  readonly #timer: Timer
  #count = 0
  #surprise: Error | undefined

  /** @param script a function answers every call */
  constructor(script: readonly ScriptedStep[] | ScriptedFunction, options: ScriptedModelOptions = {}) {
    checkOptions(options, OPTIONS)
    if (typeof script !== 'function') checkScript(script)
    const { name = 'scripted/model', latencyMs = 0, timer = systemTimer, loop = false } = options
    const slash = name.indexOf('/')
    this.provider = slash < 0 ? 'scripted' : name.slice(0, slash)
    this.modelId = name.slice(slash + 1)
    this.#steps = typeof script === 'function' ? [script] : script
    this.#endless = loop || typeof script === 'function'
    this.#latencyMs = latencyMs
    this.#timer = timer
  }

  /** The same reply to every call. */
  static forever(step: ScriptedStep, options: ScriptedModelOptions = {}): ScriptedModel {
    return new ScriptedModel([step], { ...options, loop: true })
  }

  async doStream(call: ModelCall): Promise<ModelStream> {
    const number = ++this.#count
    this.#record(call)
    const { prompt, tools = [], abortSignal } = call
    let step = this.#step(number, prompt)
    if (this.#latencyMs > 0) {
      await this.#timer.wait(this.#latencyMs, abortSignal === undefined ? {} : { signal: abortSignal })
    }
    while (typeof step === 'function') step = await step({ prompt, tools, call: number })
    checkStep('What the function of the script returned', step)
    if (abortSignal?.aborted) return whenAborted(abortSignal)
    if (typeof step === 'string') return { stream: streamOf(replyParts({ text: step }, prompt, number)) }
    if ('error' in step) return refuse(step)
    if ('stall' in step) return stall(step, abortSignal)
    return { stream: streamOf(replyParts(step, prompt, number)) }
  }

  /** Throws if steps are left over, or if a call had no step. */
  done(): void {
    if (this.#surprise) throw this.#surprise
    const left = this.#steps.length - this.#count
    if (this.#endless || left <= 0) return
    throw new Error(
      `The scripted model was called ${times(this.#count)}, but has ${this.#steps.length} steps: ${left} left over.`,
    )
  }

  #record(call: ModelCall): void {
    const { prompt, tools = [], abortSignal: _signal, ...settings } = call
    if (this.#endless && this.calls.length === MOST_CALLS) this.calls.shift()
    this.calls.push({ prompt, tools, settings })
  }

  #step(number: number, prompt: readonly PromptMessage[]): ScriptedStep {
    const { length } = this.#steps
    const step = this.#steps[this.#endless && length > 0 ? (number - 1) % length : number - 1]
    if (step !== undefined) return step
    const message = `The scripted model has ${length} steps and was called ${times(number)}. It was asked: ${lastOf(prompt)}`
    this.#surprise = Object.assign(new Error(message), { statusCode: 400, isRetryable: false })
    throw this.#surprise
  }
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

function lastOf(prompt: readonly PromptMessage[]): string {
  return JSON.stringify(prompt.at(-1) ?? 'nothing').slice(0, 200)
}

function streamOf(parts: readonly ModelStreamPart[]): ReadableStream<ModelStreamPart> {
  return new ReadableStream({
    start: (controller) => {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
}

function replyParts(
  reply: ScriptedReply,
  prompt: readonly PromptMessage[],
  number: number,
): ModelStreamPart[] {
  const { text = '', reasoning = '', calls = [], finish, deltas = piecesOf(text) } = reply
  const parts: ModelStreamPart[] = [{ type: 'stream-start' }]
  addBlock(parts, 'reasoning', piecesOf(reasoning))
  addBlock(parts, 'text', deltas)
  let written = reasoning.length
  for (const delta of deltas) written += delta.length
  for (const [at, { tool, args = {} }] of calls.entries()) {
    const input = typeof args === 'string' ? args : JSON.stringify(args)
    const id = `scripted_${number}_${at + 1}`
    written += tool.length + input.length
    parts.push({ type: 'tool-input-start', id, toolName: tool })
    for (const delta of piecesOf(input)) parts.push({ type: 'tool-input-delta', id, delta })
    parts.push({ type: 'tool-input-end', id }, { type: 'tool-call', toolCallId: id, toolName: tool, input })
  }
  if (finish === 'none') return parts
  const unified = finish ?? (calls.length > 0 ? 'tool-calls' : 'stop')
  const usage = usageOf(reply, written, prompt)
  parts.push({ type: 'finish', finishReason: { unified, raw: unified }, usage })
  return parts
}

function addBlock(parts: ModelStreamPart[], kind: 'text' | 'reasoning', deltas: readonly string[]): void {
  if (deltas.length === 0) return
  const id = `${kind}-0`
  parts.push({ type: `${kind}-start`, id })
  for (const delta of deltas) parts.push({ type: `${kind}-delta`, id, delta })
  parts.push({ type: `${kind}-end`, id })
}

const PIECES = 3

function piecesOf(text: string): string[] {
  if (text === '') return []
  const size = Math.max(1, Math.ceil(text.length / PIECES))
  const pieces: string[] = []
  for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size))
  return pieces
}

function usageOf(
  { usage = {} }: ScriptedReply,
  written: number,
  prompt: readonly PromptMessage[],
): NonNullable<ModelStreamPart['usage']> {
  const total = usage.inputTokens ?? Math.ceil(charsOf(prompt) / 4)
  return {
    inputTokens: { total, cacheRead: usage.cachedTokens ?? 0, cacheWrite: 0 },
    outputTokens: { total: usage.outputTokens ?? Math.ceil(written / 4) },
  }
}

function charsOf(prompt: readonly PromptMessage[]): number {
  let chars = 0
  for (const { content } of prompt) {
    if (typeof content === 'string') chars += content.length
    else for (const part of content) chars += part.text?.length ?? JSON.stringify(part).length
  }
  return chars
}

function refuse({ error, after }: ScriptedError): ModelStream {
  const shaped = error instanceof Error ? error : callError(error)
  if (after === undefined) throw shaped
  const parts: ModelStreamPart[] = []
  addBlock(parts, 'text', piecesOf(after))
  return { stream: streamOf([...parts.slice(0, -1), { type: 'error', error: shaped }]) }
}

/** In the shape of the AI SDK's call error. */
function callError(error: Exclude<ScriptedError['error'], Error>): Error {
  const { status, message = `The provider answered ${status ?? 'nothing'}`, retryAfter } = error
  return Object.assign(new Error(message), {
    ...defined({ statusCode: status }),
    isRetryable: status === undefined || status === 408 || status === 409 || status === 429 || status >= 500,
    responseHeaders: retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) },
  })
}

function stall({ after }: ScriptedStall, signal: AbortSignal | undefined): Promise<ModelStream> {
  const aborted = whenAborted(signal)
  if (after === undefined) return aborted
  const parts: ModelStreamPart[] = []
  addBlock(parts, 'text', piecesOf(after))
  const stream = new ReadableStream<ModelStreamPart>({
    start: (controller) => {
      for (const part of parts.slice(0, -1)) controller.enqueue(part)
      aborted.catch((error: unknown) => controller.error(error))
    },
  })
  return Promise.resolve({ stream })
}
