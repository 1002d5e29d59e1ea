/** Failures in the form of the OpenAI API, with the headers that its clients obey. */
import type { JsonObject } from '../../protocol/index.ts'
import { HttpProblem, type Problem } from '../problem.ts'

export type OpenAiError = {
  readonly message: string
  readonly type: string
  readonly param: null
  readonly code: string
}

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
}

/** Conflicts that pass by themselves: clients may send the request again. */
const PASSING: readonly string[] = ['busy', 'in-use', 'owned', 'moved']

export function errorOf({ status, code, detail, issues = [] }: Problem): OpenAiError {
  const type = TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error')
  return { message: [detail, ...issues].join(' '), type, param: null, code }
}

export function errorResponse(problem: Problem): Response {
  const { status, code, retryAfterS } = problem
  const isFinal = status === 500 || (status === 409 && !PASSING.includes(code))
  return Response.json(
    { error: errorOf(problem) },
    {
      status,
      headers: {
        ...(retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) }),
        ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
        // Clients repeat a 409 and a 500 by themselves.
        ...(isFinal ? { 'x-should-retry': 'false' } : {}),
      },
    },
  )
}

export function unsupported(parameter: string, advice: string): HttpProblem {
  return new HttpProblem({
    status: 400,
    code: 'unsupported_parameter',
    detail: `${parameter} cannot be used here: ${advice}`,
  })
}

export function unknownModel(model: string, agents: readonly string[]): HttpProblem {
  return new HttpProblem({
    status: 404,
    code: 'model_not_found',
    detail: `There is no agent ${JSON.stringify(model.slice(0, 100))}. There are ${agents.join(', ')}.`,
  })
}

/** The problem of a turn that failed or was cancelled. */
export function turnProblem(outcome: string, error: JsonObject = {}): Problem {
  if (outcome === 'cancelled') return { status: 409, code: 'cancelled', detail: 'The turn was cancelled.' }
  const { code, message } = error
  return {
    status: 500,
    code: typeof code === 'string' ? code : 'failed',
    detail: typeof message === 'string' ? message : 'The turn failed.',
  }
}
