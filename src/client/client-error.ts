/** A failure of a request: the problem that the server reported, or none if it was not reached. */

interface ClientProblem {
  readonly status?: number
  readonly code?: string
  readonly retryAfterMs?: number | undefined
  readonly issues?: readonly string[]
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
  /** Of a request that does not fit: each fault, with its field. The first few are in the message, too. */
  readonly issues: readonly string[]
  /** Of a message or answer that may have arrived: its key, to send it again. */
  readonly key: string | undefined

  constructor(message: string, problem: ClientProblem = {}) {
    const { status = 0, code = 'unreachable', retryAfterMs, issues = [], key, cause } = problem
    super(message, cause === undefined ? {} : { cause })
    this.name = 'ClientError'
    this.status = status
    this.code = code
    this.retryAfterMs = retryAfterMs
    this.issues = issues
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
  const { message, status, code, retryAfterMs, issues } = cause
  const { tries, ms, key } = given
  const tried = tries === 1 ? 'Tried once.' : `Tried ${tries} times in ${Math.round(ms / 1000)} s.`
  const again =
    key === undefined
      ? ''
      : ` It may have arrived: send it again with the key ${JSON.stringify(key)} (\`key\` of this error), and it has one effect.`
  const ended = /[.!?]$/.test(message) ? message : `${message}.`
  return new ClientError(`${ended} ${tried}${again}`, { status, code, retryAfterMs, issues, key, cause })
}

const MOST_SHOWN = 3

export async function errorOf(response: Response): Promise<ClientError> {
  const wait = Number(response.headers.get('retry-after'))
  const retryAfterMs = Number.isFinite(wait) && wait > 0 ? wait * 1000 : undefined
  const { status, statusText } = response
  // HTTP/2 has no texts of statuses.
  const answered = `The server answered ${`${status} ${statusText}`.trim()}.`
  try {
    const problem = (await response.json()) as Readonly<Record<string, unknown>>
    const issues = texts(problem['issues'])
    const message = [text(problem['detail'], answered), ...issues.slice(0, MOST_SHOWN)].join(' ')
    return new ClientError(message, { status, code: text(problem['code'], 'unknown'), retryAfterMs, issues })
  } catch {
    return new ClientError(answered, { status, code: 'unknown', retryAfterMs })
  }
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

function text(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise
}
