/** Retries and settings of model requests, for turns, summaries and single requests alike. */

import { Interrupted } from '../loop/index.ts'
import { afterFailure, type LanguageModel, ModelFailure, type NextAttempt } from '../model/index.ts'
import { NO_SECRETS, type Redactor, thrownText } from '../tool/index.ts'
import type { ModelSource } from './definition.ts'

const RETRIES = 2
const MAX_RETRY_WAIT_MS = 60_000

export const NO_MODEL = 'There is no model to ask. Give the agent a `model`.'

/** The next step after a failed attempt at this model. */
export function attemptAfter(failure: ModelFailure, { settings }: ModelSource, attempt: number): NextAttempt {
  const { retries = RETRIES, maxRetryWaitMs: maxWaitMs = MAX_RETRY_WAIT_MS } = settings
  return afterFailure(failure, { attempt, retries, maxWaitMs })
}

/** The failure of a request that was not sent: its model may not be there. */
export function notSent(cause: unknown, secrets: Redactor = NO_SECRETS): ModelFailure {
  const message = thrownText(cause, secrets)
  return new ModelFailure(cause instanceof Interrupted ? 'aborted' : 'invalid', { message, cause })
}

/** Refuses a model that writes nothing on request, neither a text nor data by a schema. */
export function checkWriter({ capabilities }: LanguageModel, { name }: ModelSource): void {
  if (capabilities?.freeText !== false) return
  const message = `${name} writes no text or data on request. Name another model.`
  throw new ModelFailure('invalid', { message })
}
