/** Retries of model requests, for turns and summaries alike. */

import { Interrupted } from '../loop/index.ts'
import { afterFailure, ModelFailure, type NextStep } from '../model/index.ts'
import { NO_SECRETS, type Redactor, thrownText } from '../tool/index.ts'
import type { ModelSource } from './definition.ts'

const RETRIES = 2
const MAX_RETRY_WAIT_MS = 60_000

export const NO_MODEL = 'There is no model to ask. Give the agent a `model`.'

/** The next step after a failed attempt at this model. */
export function stepAfter(failure: ModelFailure, { settings }: ModelSource, attempt: number): NextStep {
  const { retries = RETRIES, maxRetryWaitMs: maxWaitMs = MAX_RETRY_WAIT_MS } = settings
  return afterFailure(failure, { attempt, retries, maxWaitMs })
}

/** The failure of a request that was not sent: its model may not be there. */
export function notSent(cause: unknown, secrets: Redactor = NO_SECRETS): ModelFailure {
  const message = thrownText(cause, secrets)
  return new ModelFailure(cause instanceof Interrupted ? 'aborted' : 'invalid', { message, cause })
}
