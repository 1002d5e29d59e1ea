/** Failures as problem details (RFC 9457). Never a stack trace, and of an unknown error not even its message. */
import { type ErrorCode, HoldfastError, type JsonObject, quote } from '../protocol/index.ts'

type Code = ErrorCode | 'not-taken'

const STATUS: Partial<Record<Code, number>> = {
  'invalid-key': 400,
  'invalid-entry': 400,
  'invalid-option': 400,
  'invalid-answer': 400,
  'invalid-update': 400,
  'wrong-kind': 400,
  'too-large': 413,
  'key-reused': 409,
  'not-pending': 409,
  'not-found': 404,
  erased: 410,
  pruned: 410,
  exists: 409,
  'in-use': 409,
  owned: 409,
  moved: 409,
  busy: 409,
  paused: 409,
  expired: 409,
  'nothing-to-continue': 409,
  'not-taken': 409,
  forbidden: 403,
  overloaded: 503,
  'inbox-full': 503,
  'store-busy': 503,
  'store-full': 503,
  shutdown: 503,
}

export interface Problem {
  readonly status: number
  /** A code of the guide, or one of HTTP: `unauthorized`, `rate-limited`. */
  readonly code: string
  readonly detail: string
  readonly retryAfterS?: number
  readonly issues?: readonly string[]
  /** Of a method that an address does not take: those that it takes. */
  readonly allow?: string
}

/** Thrown by handlers. `cause`: a failure that is the operator's. */
export class HttpProblem extends Error {
  readonly problem: Problem

  constructor(problem: Problem, options?: ErrorOptions) {
    super(problem.detail, options)
    this.name = 'HttpProblem'
    this.problem = problem
  }
}

/** The same for a conversation that does not exist and for one of somebody else. */
export function notFound(): HttpProblem {
  return new HttpProblem({
    status: 404,
    code: 'not-found',
    detail: 'There is no such conversation. It begins with its first message.',
  })
}

/** Of a server that would refuse a message now. */
export function notReady(cause: unknown): unknown {
  if (problemOf(cause).status === 503) return cause
  const detail = 'The store does not answer, or takes no messages. The log of the server has the reason.'
  return new HttpProblem({ status: 503, code: 'not-ready', detail, retryAfterS: 1 }, { cause })
}

/** A conversation of the caller that was erased: nothing writes to it again by itself. */
export function erasedProblem(detail: string = ERASED): HttpProblem {
  return new HttpProblem({ status: 410, code: 'erased', detail })
}

const ERASED =
  'The conversation was erased, and its turns with it. Use another id, or begin it anew with POST /conversations/{id}/recreate.'

/** An agent that is not here. `known`: the names that the caller may use; undefined for a caller who is not named. */
export function unknownAgent(agent: string, known?: readonly string[]): Problem {
  const names = known?.map((name) => quote(name)).join(', ')
  const use = names === undefined ? '' : ` You may use ${names === '' ? 'none' : names}.`
  return { status: 404, code: 'not-found', detail: `There is no agent or graph ${quote(agent)}.${use}` }
}

/** The name in an error about an agent that is not here. */
export function unknownAgentIn(error: unknown): string | undefined {
  const agent = HoldfastError.is(error) && error.code === 'not-found' ? error.details?.['agent'] : undefined
  return typeof agent === 'string' ? agent : undefined
}

export function badRequest(detail: string, issues?: readonly string[]): HttpProblem {
  return new HttpProblem({
    status: 400,
    code: 'invalid-request',
    detail,
    ...(issues === undefined ? {} : { issues }),
  })
}

export function problemOf(error: unknown): Problem {
  if (error instanceof HttpProblem) return error.problem
  if (!HoldfastError.is(error))
    return { status: 500, code: 'internal', detail: 'The server failed. Its log has the reason.' }
  return problemWith(error.code, error.message)
}

/** The problem of a code and message of the runtime, such as those of a refused turn. */
export function problemWith(code: string, message: string): Problem {
  const status = STATUS[code as Code] ?? 500
  if (code === 'not-found') return notFound().problem
  if (code === 'erased') return erasedProblem().problem
  return {
    status,
    code,
    detail: status === 500 ? 'The server failed. Its log has the reason.' : message,
    ...(status === 503 ? { retryAfterS: 1 } : {}),
  }
}

/** True for a failure that its caller does not see: the operator has to. */
export function isHidden(error: unknown): boolean {
  return problemOf(error).status === 500 || (error instanceof HttpProblem && error.cause !== undefined)
}

/** A refusal of the runtime, such as that of a turn. Its message is the cause where the caller does not see it. */
export function refusedProblem({
  code,
  message,
}: {
  readonly code: string
  readonly message: string
}): HttpProblem {
  const problem = problemWith(code, message)
  return new HttpProblem(problem, problem.status === 500 ? { cause: new Error(`${code}: ${message}`) } : {})
}

export function problemResponse({ status, code, detail, retryAfterS, issues, allow }: Problem): Response {
  const body: JsonObject = {
    type: 'about:blank',
    title: TITLES[status] ?? 'Error',
    status,
    code,
    detail,
    ...(issues === undefined ? {} : { issues }),
  }
  return new Response(JSON.stringify(body), {
    status,
    headers: {
      'content-type': 'application/problem+json',
      ...(retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) }),
      ...(allow === undefined ? {} : { allow }),
      ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    },
  })
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not found',
  405: 'Method not allowed',
  406: 'Not acceptable',
  408: 'Request timeout',
  409: 'Conflict',
  410: 'Gone',
  413: 'Too large',
  415: 'Unsupported media type',
  416: 'Range not satisfiable',
  429: 'Too many requests',
  500: 'Internal error',
  503: 'Unavailable',
  504: 'Timeout',
}
