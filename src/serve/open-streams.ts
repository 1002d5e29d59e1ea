/** The open streams of a server: bounded in all and for each caller, ended when the reader leaves or the server closes. */
import { HttpProblem, isHidden, type Problem, problemOf } from './problem.ts'

export interface OpenStream {
  /** Aborts when the stream has to end. */
  readonly signal: AbortSignal
  /** Called when it has ended, by itself or not. */
  readonly leave: () => void
  /** The problem of a failure in mid-stream, for its reader. Reports one that the reader does not see. */
  readonly failed: (error: unknown) => Problem
}

/** Works with a place that is taken before the work stores anything, and leaves it if the work fails. */
export async function withStream<T>(
  stream: OpenStream,
  work: (stream: OpenStream) => Promise<T>,
): Promise<T> {
  try {
    return await work(stream)
  } catch (error) {
    stream.leave()
    throw error
  }
}

export interface OpenStreamsOptions {
  readonly most: number
  readonly mostEach: number
  readonly report: (error: unknown) => void
}

export class OpenStreams {
  readonly #options: OpenStreamsOptions
  readonly #byCaller = new Map<string, number>()
  readonly #open = new Set<AbortController>()
  #isClosed = false

  constructor(options: OpenStreamsOptions) {
    this.#options = options
  }

  get total(): number {
    return this.#open.size
  }

  /** Throws a problem once the server closes. */
  checkOpen(): void {
    if (this.#isClosed) throw refused(503, 'shutdown', 'This server is shutting down.')
  }

  enter(caller: string, request: Request): OpenStream {
    const { most, mostEach } = this.#options
    const own = this.#byCaller.get(caller) ?? 0
    this.checkOpen()
    if (this.#open.size >= most) throw refused(503, 'overloaded', TOO_MANY)
    if (own >= mostEach) throw refused(429, 'rate-limited', TOO_MANY)
    const stop = new AbortController()
    this.#open.add(stop)
    this.#byCaller.set(caller, own + 1)
    const leave = (): void => {
      if (!this.#open.delete(stop)) return
      const left = (this.#byCaller.get(caller) ?? 1) - 1
      if (left > 0) this.#byCaller.set(caller, left)
      else this.#byCaller.delete(caller)
      stop.abort()
    }
    // A reader that leaves before it has read anything cancels no stream: only its request aborts.
    if (request.signal.aborted) leave()
    else request.signal.addEventListener('abort', leave, { once: true })
    return { signal: stop.signal, leave, failed: (error) => this.#failed(error) }
  }

  #failed(error: unknown): Problem {
    if (isHidden(error)) this.#options.report(error)
    return problemOf(error)
  }

  close(): void {
    this.#isClosed = true
    for (const stop of [...this.#open]) stop.abort()
  }
}

const TOO_MANY = 'Too many streams are open. Close one first.'

function refused(status: number, code: string, detail: string): HttpProblem {
  return new HttpProblem({ status, code, detail, retryAfterS: 1 })
}
