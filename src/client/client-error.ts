/** A failure of a request: the problem that the server reported, or none if it was not reached. */

interface ClientProblem {
  readonly status?: number
  readonly code?: string
  readonly retryAfterMs?: number | undefined
  readonly key?: string | undefined
  readonly cause?: unknown
}

export class ClientError extends Error {
  /** 0 if the server was not reached. */
  readonly status: number
  /** A code of the guide, such as `not-found`, or `unreachable`. */
  readonly code: string
  /** The wait that the server asks for. */
  readonly retryAfterMs: number | undefined
  /** Of a message or answer that may have arrived: its key, to send it again. */
  readonly key: string | undefined

  constructor(message: string, problem: ClientProblem = {}) {
    const { status = 0, code = 'unreachable', retryAfterMs, key, cause } = problem
    super(message, cause === undefined ? {} : { cause })
    this.name = 'ClientError'
    this.status = status
    this.code = code
    this.retryAfterMs = retryAfterMs
    this.key = key
  }

  /** True if the same request may succeed later. */
  get isTransient(): boolean {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500
  }
}

interface Tries {
  readonly tries: number
  readonly ms: number
  readonly key: string | undefined
}

/** The last failure of a request that was repeated for long enough: its `cause`. */
export function givenUp(cause: ClientError, given: Tries): ClientError {
  const { message, status, code, retryAfterMs } = cause
  const { tries, ms, key } = given
  const tried = tries === 1 ? 'Tried once.' : `Tried ${tries} times in ${Math.round(ms / 1000)} s.`
  const again =
    key === undefined
      ? ''
      : ` It may have arrived: send it again with the key ${JSON.stringify(key)} (\`key\` of this error), and it has one effect.`
  const ended = /[.!?]$/.test(message) ? message : `${message}.`
  return new ClientError(`${ended} ${tried}${again}`, { status, code, retryAfterMs, key, cause })
}

export async function errorOf(response: Response): Promise<ClientError> {
  const wait = Number(response.headers.get('retry-after'))
  const retryAfterMs = Number.isFinite(wait) && wait > 0 ? wait * 1000 : undefined
  const { status, statusText } = response
  // HTTP/2 has no texts of statuses.
  const answered = `The server answered ${`${status} ${statusText}`.trim()}.`
  try {
    const { code, detail } = (await response.json()) as { readonly code?: unknown; readonly detail?: unknown }
    return new ClientError(text(detail, answered), { status, code: text(code, 'unknown'), retryAfterMs })
  } catch {
    return new ClientError(answered, { status, code: 'unknown', retryAfterMs })
  }
}

function text(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise
}
