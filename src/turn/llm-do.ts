/** One request to a model, without an agent, a turn or a journal: text, or data by a schema. */
import { systemIds, systemTimer, type Timer } from '../base/index.ts'
import { ModelFailure, type ModelOptions, type ModelReply, streamModel } from '../model/index.ts'
import {
  addUsage,
  checkOptions,
  HoldfastError,
  invalidOption,
  type Message,
  NO_USAGE,
  type OptionSet,
  replyText,
  type Usage,
} from '../protocol/index.ts'
import type { StandardSchema } from '../tool/index.ts'
import { checkModels, checkSettings, modelSources } from './define-turn.ts'
import type { ModelSource } from './definition.ts'
import { attemptAfter, checkWriter, NO_MODEL, notSent } from './model-retry.ts'
import { modelSecrets } from './model-secrets.ts'
import {
  checkOutputRetries,
  correction,
  invalidOutput,
  jsonRequest,
  judgeReply,
  OUTPUT_RETRIES,
  type OutputSchema,
  outputSchema,
  withInstruction,
} from './output-schema.ts'
import { type MessageInput, parseMessage } from './parse-message.ts'
import type { ModelChoice } from './turn-config.ts'

export interface LlmDoOptions<Output = unknown> {
  /** As for an agent: a name, a model of the AI SDK, or a list whose others are fallbacks. */
  readonly model: ModelChoice | readonly ModelChoice[]
  /** The schema of the reply: the result has `output`. Without one, the reply is text. */
  readonly schema?: StandardSchema<unknown, Output>
  readonly system?: string
  readonly temperature?: number
  /** Further settings of the model, keys, timeouts and retries included. */
  readonly settings?: ModelOptions
  /** How often an invalid reply goes back before the call fails with `invalid-output`; 2 by default. */
  readonly outputRetries?: number
  readonly signal?: AbortSignal
  /** For tests. */
  readonly timer?: Timer
}

export interface LlmDoResult {
  readonly text: string
  /** The model that replied, as `provider/model`. */
  readonly model: string
  /** Why it stopped: `stop`, or `length` if its text was cut off. */
  readonly finish: string
  /** Of all requests, failed and invalid ones included. */
  readonly usage: Usage
}

/**
 * Asks a model once. Nothing is stored, and no agent is needed. Throws `model-failed` if every model failed,
 * `invalid-output` if no reply fits the schema, `cancelled` if the signal aborts.
 *
 * @example
 * const { output, usage } = await llmDo('Where is it raining?', { model: 'openai/gpt-4.1-mini', schema: z.array(z.string()) })
 */
export function llmDo<Output>(
  prompt: MessageInput,
  options: LlmDoOptions<Output> & { readonly schema: StandardSchema<unknown, Output> },
): Promise<LlmDoResult & { readonly output: Output }>
export function llmDo(prompt: MessageInput, options: LlmDoOptions): Promise<LlmDoResult>
export async function llmDo(
  prompt: MessageInput,
  options: LlmDoOptions,
): Promise<LlmDoResult & { readonly output?: unknown }> {
  return new OneShot(options).run({ role: 'user', content: parseMessage(prompt) })
}

const LLM_DO: OptionSet<LlmDoOptions> = {
  place: 'llmDo()',
  options: {
    model: null,
    schema: null,
    system: 'a text',
    temperature: 'a number',
    settings: null,
    outputRetries: null,
    signal: 'an AbortSignal',
    timer: 'a timer with wait() and after()',
  },
  foreign: {
    ...Object.fromEntries(
      ['output', 'outputType', 'outputSchema', 'responseFormat', 'response_format'].map((name) => [
        name,
        'schema: z.object({ … })',
      ]),
    ),
    prompt: 'the prompt as the first argument',
    messages: 'the prompt as the first argument',
    input: 'the prompt as the first argument',
    systemPrompt: 'system',
    system_prompt: 'system',
    instructions: 'system',
    abortSignal: 'signal',
    maxRetries: 'settings: { retries }',
    retries: 'settings: { retries }',
    timeout: 'settings: { timeoutMs }',
    timeoutMs: 'settings: { timeoutMs }',
    maxOutputTokens: 'settings: { maxOutputTokens }',
    maxTokens: 'settings: { maxOutputTokens }',
    apiKey: 'settings: { apiKey }',
    baseURL: 'settings: { baseURL }',
    tools: 'an Agent, which runs tools',
  },
}

class OneShot {
  readonly #models: readonly ModelSource[]
  readonly #output: OutputSchema | undefined
  readonly #system: string | undefined
  readonly #retries: number
  readonly #signal: AbortSignal
  readonly #timer: Timer
  #usage: Usage = NO_USAGE

  constructor(options: LlmDoOptions) {
    checkOptions(options, LLM_DO)
    const { model, schema, system, temperature, settings = {}, outputRetries = OUTPUT_RETRIES } = options
    if (model === undefined)
      throw invalidOption('model', "must be given, such as llmDo(prompt, { model: 'openai/gpt-4.1-mini' })")
    checkModels(model)
    checkSettings(settings)
    checkOutputRetries(outputRetries)
    this.#models = modelSources(model, { ...settings, ...(temperature === undefined ? {} : { temperature }) })
    this.#output = schema === undefined ? undefined : outputSchema('schema', schema)
    this.#system = withInstruction(system, this.#output, { hasTools: false })
    this.#retries = outputRetries
    this.#signal = options.signal ?? new AbortController().signal
    this.#timer = options.timer ?? systemTimer
  }

  async run(prompt: Message): Promise<LlmDoResult & { readonly output?: unknown }> {
    const messages = [prompt]
    for (let invalid = 1; ; invalid++) {
      const { content, finish, model } = await this.#reply(messages)
      const text = replyText(content)
      if (this.#output === undefined) return { text, model, finish, usage: this.#usage }
      const verdict = await judgeReply({ text, finish }, this.#output.schema)
      if ('value' in verdict) return { text, output: verdict.value, model, finish, usage: this.#usage }
      const { issues } = verdict
      if (invalid > this.#retries)
        throw new HoldfastError('invalid-output', {
          message: invalidOutput(invalid, issues),
          details: { text, issues, model, usage: this.#usage },
        })
      messages.push({ role: 'assistant', content, model }, { role: 'user', content: correction(issues) })
    }
  }

  /** The reply of the first model that gives one. */
  async #reply(messages: readonly Message[]): Promise<ModelReply> {
    let failure = new ModelFailure('invalid', { message: NO_MODEL })
    for (const source of this.#models) {
      const reply = await this.#ask(source, messages)
      if (!(reply instanceof ModelFailure)) return reply
      failure = reply
      if (this.#signal.aborted) break
    }
    throw this.#error(failure)
  }

  async #ask(source: ModelSource, messages: readonly Message[]): Promise<ModelReply | ModelFailure> {
    for (let attempt = 1; ; attempt++) {
      const reply = await this.#askOnce(source, messages)
      this.#usage = addUsage(this.#usage, reply.usage)
      if (!(reply instanceof ModelFailure) || this.#signal.aborted) return reply
      const step = attemptAfter(reply, source, attempt)
      if (step.next !== 'retry') return reply
      await this.#timer.wait(step.waitMs, { signal: this.#signal })
      if (this.#signal.aborted) return reply
    }
  }

  async #askOnce(source: ModelSource, messages: readonly Message[]): Promise<ModelReply | ModelFailure> {
    try {
      const model = await source.resolve()
      checkWriter(model, source)
      return await streamModel({
        model,
        ...(this.#system === undefined ? {} : { system: this.#system }),
        messages,
        tools: [],
        ...source.request,
        ...jsonRequest(this.#output),
        signal: this.#signal,
        ids: systemIds,
        timer: this.#timer,
        onDelta: () => {},
      })
    } catch (error) {
      return error instanceof ModelFailure ? error : notSent(error)
    }
  }

  #error(failure: ModelFailure): HoldfastError {
    const { cause } = failure
    if (this.#signal.aborted)
      return new HoldfastError('cancelled', {
        message: 'The call of llmDo() was aborted by its signal.',
        details: { usage: this.#usage },
        cause: this.#signal.reason,
      })
    if (HoldfastError.is(cause)) return cause
    const message = modelSecrets(this.#models).ended(failure.message)
    const details = { ...failure.toData(), message, usage: this.#usage }
    return new HoldfastError('model-failed', { message, details, cause: cause ?? failure })
  }
}
