/**
 * Trouble on order for models: a decorator that makes chosen calls of any model fail, stall, break off or talk nonsense.
 * What it does not touch goes through unchanged.
 */
import type { LanguageModel, ModelCall, ModelStream, ModelStreamPart } from '../model/index.ts'

export type ModelFault = ModelError | ModelStall | ModelCut | ModelGarbage

interface Chosen {
  /** Which calls: one by its number, counted from 1; or all that a test says. */
  readonly at: number | ((call: ModelCall, n: number) => boolean)
}

/** The provider answers with an error, or the connection breaks. */
interface ModelError extends Chosen {
  readonly how: 'error'
  /** Of the answer, such as 429 or 503. Without it there is no answer: the connection is reset. */
  readonly status?: number
  /** In seconds, as in the header. */
  readonly retryAfter?: number
  /** So many parts of the reply arrive first. Without it the call itself fails. */
  readonly after?: number
}

/** Nothing comes any more, until the caller aborts. */
interface ModelStall extends Chosen {
  readonly how: 'stall'
  /** So many parts of the reply arrive first. Without it the call is never answered. */
  readonly after?: number
}

/** The stream just ends, after so many parts and without a word. */
interface ModelCut extends Chosen {
  readonly how: 'cut'
  readonly after: number
}

interface ModelGarbage extends Chosen {
  readonly how: 'garbage'
  /**
   * `parts`: before the reply come parts that are none. `arguments`: the arguments of every call are broken JSON.
   * `finish`: the reply ends for a reason that nobody knows, with a usage that is no number.
   */
  readonly what: 'parts' | 'arguments' | 'finish'
}

/**
 * The same model, with the faults of the plan: each call suffers the first that applies to it. Calls that are repeated
 * after a failure are calls, too.
 *
 * @example
 * // Busy twice, then a reply that breaks off after four parts, then as it is.
 * const model = faultyModel(real, [
 *   { at: 1, how: 'error', status: 429, retryAfter: 2 },
 *   { at: 2, how: 'error', status: 503 },
 *   { at: 3, how: 'cut', after: 4 },
 * ])
 * const agent = new Agent({ contextId: 'talk', model })
 */
export function faultyModel<M extends LanguageModel>(model: M, plan: readonly ModelFault[]): M {
  let calls = 0
  const doStream = async (call: ModelCall): Promise<ModelStream> => {
    calls += 1
    const fault = plan.find(({ at }) => (typeof at === 'number' ? at === calls : at(call, calls)))
    if (fault === undefined) return model.doStream(call)
    if (fault.how === 'error' && fault.after === undefined) throw errorOf(fault)
    if (fault.how === 'stall' && fault.after === undefined) return aborted(call)
    const { stream } = await model.doStream(call)
    return { stream: streamOf(spoilt(stream, fault, call)) }
  }
  return new Proxy(model, {
    get(target, name) {
      if (name === 'doStream') return doStream
      const value: unknown = Reflect.get(target, name)
      // Bound, because a proxy has no access to the private fields of its target.
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

async function* spoilt(
  stream: ReadableStream<ModelStreamPart>,
  fault: ModelFault,
  call: ModelCall,
): AsyncGenerator<ModelStreamPart, void> {
  if (fault.how === 'garbage') {
    if (fault.what === 'parts') yield* NO_PARTS as readonly ModelStreamPart[]
    for await (const part of stream) yield garbled(part, fault.what)
    return
  }
  let left = fault.after ?? 0
  if (left > 0) {
    for await (const part of stream) {
      yield part
      left -= 1
      if (left === 0) break
    }
  } else await stream.cancel()
  if (fault.how === 'stall') await aborted(call)
  if (fault.how !== 'error') return
  // Providers that can still speak say it in the stream.
  if (fault.status === undefined) throw errorOf(fault)
  yield { type: 'error', error: errorOf(fault) }
}

/** What no interface allows, and a careless adapter lets through. The last is not even an object. */
const NO_PARTS: readonly unknown[] = [
  {},
  { type: 7 },
  { type: 'no-such-part', delta: 'nothing' },
  { type: 'text-delta' },
  { type: 'text-delta', id: 5, delta: { text: 'nothing' } },
  { type: 'tool-input-delta', id: 'no-such-input', delta: 'nothing' },
  null,
]

function garbled(part: ModelStreamPart, what: ModelGarbage['what']): ModelStreamPart {
  if (what === 'arguments' && part.type === 'tool-call')
    return { ...part, input: `${(part.input ?? '{').slice(0, -1)},,` }
  if (what !== 'finish' || part.type !== 'finish') return part
  const nan = Number.NaN
  return {
    type: 'finish',
    finishReason: { unified: 'sideways', raw: 'sideways' },
    usage: { inputTokens: { total: nan, cacheRead: nan, cacheWrite: nan }, outputTokens: { total: nan } },
  }
}

/** In the shapes of the AI SDK: its call error, or what the system says about a connection. */
function errorOf({ status, retryAfter }: ModelError): Error {
  if (status === undefined)
    return Object.assign(new TypeError('fetch failed'), {
      cause: Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }),
    })
  return Object.assign(new Error(`The provider answered ${status}, on order.`), {
    statusCode: status,
    isRetryable: status === 408 || status === 409 || status === 429 || status >= 500,
    responseHeaders: retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) },
  })
}

function aborted({ abortSignal }: ModelCall): Promise<never> {
  return new Promise((_, reject) => {
    const give = (): void => {
      const reason: unknown = abortSignal?.reason
      reject(reason instanceof Error ? reason : new Error('aborted', { cause: reason }))
    }
    if (abortSignal?.aborted) give()
    else abortSignal?.addEventListener('abort', give, { once: true })
  })
}

function streamOf(parts: AsyncGenerator<ModelStreamPart, void>): ReadableStream<ModelStreamPart> {
  return new ReadableStream<ModelStreamPart>({
    pull: async (controller) => {
      const next = await parts.next()
      if (next.done) controller.close()
      else controller.enqueue(next.value)
    },
    cancel: async () => {
      await parts.return()
    },
  })
}
