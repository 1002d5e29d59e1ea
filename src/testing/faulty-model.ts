/**
 * Fault injection for models: a decorator that makes selected calls of any model fail, stall, break off or return
 * nonsense. Other calls pass unchanged.
 */
import type { LanguageModel, ModelCall, ModelStream, ModelStreamPart } from '../model/index.ts'
import { whenAborted } from './when-aborted.ts'
import { withMethod } from './with-method.ts'

export type ModelFault = ModelError | ModelStall | ModelCut | ModelGarbage

interface Chosen {
  /** The calls to disturb: one by its number, counted from 1, or those for which the function returns true. */
  readonly at: number | ((call: ModelCall, n: number) => boolean)
}

/** The provider answers with an error, or the connection breaks. */
interface ModelError extends Chosen {
  readonly how: 'error'
  /** The HTTP status, such as 429 or 503. Without it the connection is reset. */
  readonly status?: number
  /** In seconds, as in the header. */
  readonly retryAfter?: number
  /** The number of parts that arrive first. Without it the call itself fails. */
  readonly after?: number
}

/** No further part arrives until the caller aborts. */
interface ModelStall extends Chosen {
  readonly how: 'stall'
  /** The number of parts that arrive first. Without it the call is never answered. */
  readonly after?: number
}

/** The stream ends after so many parts, without a finish. */
interface ModelCut extends Chosen {
  readonly how: 'cut'
  readonly after: number
}

interface ModelGarbage extends Chosen {
  readonly how: 'garbage'
  /**
   * `parts`: invalid parts precede the reply. `arguments`: the arguments of every call are broken JSON. `finish`: the
   * reply ends with an unknown reason and a usage that is no number.
   */
  readonly what: 'parts' | 'arguments' | 'finish'
}

/**
 * The same model, with the faults of the plan: the first that applies to a call. Retries count as calls.
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
    if (fault.how === 'stall' && fault.after === undefined) return whenAborted(call.abortSignal)
    const { stream } = await model.doStream(call)
    return { stream: streamOf(spoilt(stream, fault, call)) }
  }
  return withMethod(model, 'doStream', doStream)
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
  if (fault.how === 'stall') await whenAborted(call.abortSignal)
  if (fault.how !== 'error') return
  // A provider that still answers sends the error in the stream.
  if (fault.status === undefined) throw errorOf(fault)
  yield { type: 'error', error: errorOf(fault) }
}

/** Parts that the interface forbids and a careless adapter lets through. The last is not even an object. */
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

/** An error in the shape of the AI SDK's call error, or of the system's connection error. */
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
