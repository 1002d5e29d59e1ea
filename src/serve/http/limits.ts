/** Bounds of a server: requests in a time, by caller, and the size of a body. */
import type { Clock } from '../../base/index.ts'
import { HttpProblem } from './problem.ts'

/** A bucket for each name: `perMinute` requests in the long run, as many at once. Forgets names that are full again. */
export class RateLimit {
  readonly #perMinute: number
  readonly #clock: Clock
  readonly #buckets = new Map<string, { left: number; at: number }>()

  constructor(perMinute: number, clock: Clock) {
    this.#perMinute = perMinute
    this.#clock = clock
  }

  /** Throws `rate-limited` with the time to wait. */
  take(name: string): void {
    const now = this.#clock.now()
    const { left, at } = this.#buckets.get(name) ?? { left: this.#perMinute, at: now }
    const filled = Math.min(this.#perMinute, left + ((now - at) / 60_000) * this.#perMinute)
    // Set anew, so that the names come in the order of their last use.
    this.#buckets.delete(name)
    this.#buckets.set(name, { left: filled < 1 ? filled : filled - 1, at: now })
    if (this.#buckets.size > MOST_BUCKETS) this.#forget(now)
    if (filled >= 1) return
    throw new HttpProblem({
      status: 429,
      code: 'rate-limited',
      detail: 'Too many requests. Wait before the next.',
      retryAfterS: Math.ceil(((1 - filled) / this.#perMinute) * 60),
    })
  }

  /** Undoes one `take`. */
  giveBack(name: string): void {
    const bucket = this.#buckets.get(name)
    if (bucket !== undefined) bucket.left = Math.min(this.#perMinute, bucket.left + 1)
  }

  #forget(now: number): void {
    for (const [name, { left, at }] of this.#buckets)
      if (left + ((now - at) / 60_000) * this.#perMinute >= this.#perMinute) this.#buckets.delete(name)
    // All are in use: a tenth goes, so that it is not needed at each call. Those unused for longest begin anew.
    for (const name of this.#buckets.keys()) {
      if (this.#buckets.size <= MOST_BUCKETS * 0.9) return
      this.#buckets.delete(name)
    }
  }
}

const MOST_BUCKETS = 10_000

/** The JSON of a body, at most `most` bytes of it, read as it comes; too large is known before all is read. */
export async function jsonBody(request: Request, most: number): Promise<unknown> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/json\s*(;|$)/i.test(type))
    throw new HttpProblem({ status: 415, code: 'unsupported-media-type', detail: 'Send application/json.' })
  const text = await bodyText(request, most)
  try {
    return JSON.parse(text, refuseProto) as unknown
  } catch (error) {
    const detail = error instanceof HttpProblem ? error.message : 'The body is not valid JSON.'
    throw new HttpProblem({ status: 400, code: 'invalid-request', detail })
  }
}

/** A key that would become the prototype of an object. */
function refuseProto(key: string, value: unknown): unknown {
  if (key === '__proto__')
    throw new HttpProblem({
      status: 400,
      code: 'invalid-request',
      detail: 'A field cannot be called __proto__.',
    })
  return value
}

async function bodyText(request: Request, most: number): Promise<string> {
  const tooLarge = new HttpProblem({
    status: 413,
    code: 'too-large',
    detail: `The body may have ${most} bytes.`,
  })
  if (Number(request.headers.get('content-length') ?? 0) > most) throw tooLarge
  const chunks: Uint8Array[] = []
  let bytes = 0
  const reader = (request.body as ReadableStream<Uint8Array> | null)?.getReader()
  while (reader !== undefined) {
    const { done, value } = await reader.read()
    if (done) break
    bytes += value.length
    if (bytes > most) {
      void reader.cancel().catch(() => {})
      throw tooLarge
    }
    chunks.push(value)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw new HttpProblem({ status: 400, code: 'invalid-request', detail: 'The body is not UTF-8.' })
  }
}
