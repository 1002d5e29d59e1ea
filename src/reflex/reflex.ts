/**
 * The model that is always there. Reflex is made of rules and contains no neural network: it compares the words of a
 * request with the tools of the call, fills in what was said, looks up what it can, and asks for the rest. It has the
 * interface of every other model, knows nothing but the prompt and the tools of the call, and says the same to the same.
 */
import { systemTimer, type Timer } from '../base/index.ts'
import type { GroundingContext } from '../model/grounding-context.ts'
import type {
  LanguageModel,
  ModelCall,
  ModelStream,
  ModelStreamPart,
  ProviderUsage,
} from '../model/language-model.ts'
import { checkOptions } from '../protocol/index.ts'
import { readConversation, type Structured } from './conversation.ts'
import { type Decision, decide } from './decide.ts'
import { type Lexicon, languageOf, lexiconOf } from './request.ts'
import { type Profile, profileOf, WEIGHT, withShared } from './tools.ts'

export interface ReflexOptions {
  /** Time between two pieces of text, for those who want to watch it being said; none unless said otherwise. */
  readonly paceMs?: number
  readonly timer?: Timer
}

/** A whole reply, for callers that do not stream. */
export interface ReflexReply {
  readonly content: (
    | { type: 'text'; text: string }
    | { type: 'tool-call'; toolCallId: string; toolName: string; input: string }
  )[]
  readonly finishReason: { unified: 'stop' | 'tool-calls' | 'length'; raw: string }
  readonly usage: ReflexUsage
  readonly warnings: never[]
}

/** Estimated: a token is four characters. */
export interface ReflexUsage extends ProviderUsage {
  readonly inputTokens: { total: number; noCache: number; cacheRead: number; cacheWrite: number }
  readonly outputTokens: { total: number; text: number; reasoning: number }
}

export interface Reflex extends LanguageModel {
  readonly specificationVersion: 'v3'
  readonly provider: 'holdfast'
  readonly modelId: 'reflex'
  readonly capabilities: { readonly structuredContext: true; readonly freeText: false }
  readonly supportedUrls: Record<string, RegExp[]>
  doGenerate(call: ModelCall): Promise<ReflexReply>
}

/**
 * The embedded model: rules, no neural network, no key, no network. `model: 'reflex'` means it too. It never makes up a
 * required value or an id, never repeats a call of the same turn, and stops after a tool that failed.
 */
export function reflex(options: ReflexOptions = {}): Reflex {
  checkOptions(options, { place: 'reflex()', options: { paceMs: 'a number', timer: 'an object' } })
  const { paceMs = 0, timer = systemTimer } = options
  return {
    specificationVersion: 'v3',
    provider: 'holdfast',
    modelId: 'reflex',
    capabilities: { structuredContext: true, freeText: false },
    supportedUrls: {},
    doGenerate: async (call) => replyTo(call),
    doStream: async (call) => ({ stream: streamOf(replyTo(call), call.abortSignal, { paceMs, timer }) }),
  }
}

function replyTo(call: ModelCall): ReflexReply {
  call.abortSignal?.throwIfAborted()
  const decision = decisionOn(call)
  const most = (call.maxOutputTokens ?? Number.POSITIVE_INFINITY) * CHARS_PER_TOKEN
  const text = decision.kind === 'call' ? '' : decision.text.slice(0, most).toWellFormed()
  const place = call.prompt.length
  const calls = decision.kind === 'call' ? decision.calls : []
  const content: ReflexReply['content'] = calls.map(({ tool, args }, at) => ({
    type: 'tool-call',
    toolCallId: `reflex_${place}_${at + 1}`,
    toolName: tool,
    input: JSON.stringify(args),
  }))
  if (text !== '') content.push({ type: 'text', text })
  const cut = decision.kind !== 'call' && text.length < decision.text.length
  const unified = calls.length > 0 ? 'tool-calls' : cut ? 'length' : 'stop'
  return { content, finishReason: { unified, raw: unified }, usage: usageOf(call, content), warnings: [] }
}

function decisionOn({ prompt, tools = [], toolChoice, providerOptions }: ModelCall): Decision {
  const named = toolChoice?.type === 'tool' ? toolChoice.toolName : undefined
  const data = (providerOptions?.['holdfast'] ?? {}) as Partial<GroundingContext> & Structured
  const { displays, unknown, entities } = data
  const known = entities === undefined ? undefined : (data as GroundingContext)
  const offered = (toolChoice?.type === 'none' ? [] : tools).filter(
    ({ type, name }) => type === 'function' && (named === undefined || name === named),
  )
  const about = offered
    .map(({ name, description = '' }) => `${name.replaceAll('_', ' ')} ${description}`)
    .join(' ')
  const language = languageOf(about) ?? 'en'
  const profiles = withShared(offered.map((tool) => profileOf(tool, { entities, language })))
  const system = prompt.map(({ role, content }) => (role === 'system' ? content : '')).join(' ')
  return decide({
    turns: readConversation(prompt, { displays, unknown, known }),
    profiles,
    forced: named !== undefined || toolChoice?.type === 'required',
    lexicon: lexiconOf(wordsOf(profiles), entities ?? {}, languageOf(system) ?? 'en'),
    known,
  })
}

/** The stems that tools use: requests are read in these words. */
function wordsOf(profiles: readonly Profile[]): Pick<Lexicon, 'own' | 'names'> {
  const names = new Set(profiles.flatMap(({ name }) => name.map(({ stem }) => stem)))
  const own = new Set(
    profiles.flatMap(({ weights }) =>
      [...weights].flatMap(([key, weight]) => (weight >= WEIGHT.param && !key.startsWith('=') ? [key] : [])),
    ),
  )
  return { own, names }
}

const CHARS_PER_TOKEN = 4

function usageOf({ prompt, tools }: ModelCall, content: ReflexReply['content']): ReflexUsage {
  let read = tools === undefined ? 0 : JSON.stringify(tools).length
  for (const { content: said } of prompt) {
    if (typeof said === 'string') read += said.length
    else
      for (const part of said)
        read += part.text?.length ?? JSON.stringify(part.output ?? part.input ?? '').length
  }
  let written = 0
  for (const part of content) {
    written += part.type === 'text' ? part.text.length : part.toolName.length + part.input.length
  }
  const input = Math.ceil(read / CHARS_PER_TOKEN)
  const output = Math.ceil(written / CHARS_PER_TOKEN)
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: output, text: output, reasoning: 0 },
  }
}

/** Made as it is read, so that whoever stops reading stops it. */
function streamOf(
  reply: ReflexReply,
  signal: AbortSignal | undefined,
  { paceMs, timer }: Required<ReflexOptions>,
): ModelStream['stream'] {
  const parts = partsOf(reply)
  return new ReadableStream<ModelStreamPart>(
    {
      pull: async (controller) => {
        const { value, done } = parts.next()
        if (paceMs > 0 && !done && value.type === 'text-delta') {
          await timer.wait(paceMs, signal === undefined ? {} : { signal })
        }
        if (signal?.aborted) controller.error(signal.reason)
        else if (done) controller.close()
        else controller.enqueue(value)
      },
    },
    { highWaterMark: 0 },
  )
}

function* partsOf({
  content,
  finishReason,
  usage,
  warnings,
}: ReflexReply): Generator<ModelStreamPart, undefined> {
  yield { type: 'stream-start', warnings } as ModelStreamPart
  for (const [at, part] of content.entries()) {
    const id = part.type === 'text' ? `text-${at}` : part.toolCallId
    if (part.type === 'text') {
      yield { type: 'text-start', id }
      for (const piece of part.text.match(/\s*\S{1,40}\s*/g) ?? [part.text])
        yield { type: 'text-delta', id, delta: piece }
      yield { type: 'text-end', id }
    } else {
      yield { type: 'tool-input-start', id, toolName: part.toolName }
      yield { type: 'tool-input-delta', id, delta: part.input }
      yield { type: 'tool-input-end', id }
      yield part
    }
  }
  yield { type: 'finish', finishReason, usage }
  return undefined
}
