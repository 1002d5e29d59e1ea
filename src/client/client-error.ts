/** A failure of a request: the problem that the server reported, or none if it was not reached. */

interface ClientProblem {
  readonly status?: number
  readonly code?: string
  readonly retryAfterMs?: number | undefined
}

export class ClientError extends Error {
  /** 0 if the server was not reached. */
  readonly status: number
  /** A code of the guide, such as `not-found`, or `unreachable`. */
  readonly code: string
  /** The wait that the server asks for. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, { status = 0, code = 'unreachable', retryAfterMs }: ClientProblem = {}) {
    super(message)
    this.name = 'ClientError'
    this.status = status
    this.code = code
    this.retryAfterMs = retryAfterMs
  }

  /** True if the same request may succeed later. */
  get isTransient(): boolean {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500
  }
}

export async function errorOf(response: Response): Promise<ClientError> {
  const wait = Number(response.headers.get('retry-after'))
  const retryAfterMs = Number.isFinite(wait) && wait > 0 ? wait * 1000 : undefined
  const { status, statusText } = response
  try {
    const { code, detail } = (await response.json()) as { readonly code?: unknown; readonly detail?: unknown }
    return new ClientError(text(detail, statusText), { status, code: text(code, 'unknown'), retryAfterMs })
  } catch {
    return new ClientError(statusText, { status, code: 'unknown', retryAfterMs })
  }
}

function text(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise
}
