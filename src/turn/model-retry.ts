/** What is the same whoever asks a model: a turn, or somebody who needs a summary. */

import { Interrupted } from '../loop/index.ts'
import { afterFailure, ModelFailure, type ModelRequest, type NextStep } from '../model/index.ts'
import { NO_SECRETS, type Redactor, thrownText } from '../tool/index.ts'
import type { ModelSource } from './definition.ts'

const RETRIES = 2
const MAX_RETRY_WAIT_MS = 60_000

export const NO_MODEL = 'There is no model to ask. Give the agent a `model`.'

/** What the settings of a model say about each request to it. */
export function requestSettings({
  settings: { timeoutMs, prices, ...settings },
}: ModelSource): Pick<ModelRequest, 'settings' | 'timeoutMs' | 'prices'> {
  return {
    settings,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(prices === undefined ? {} : { prices }),
  }
}

/** What comes after this attempt, if it is for this model to say. */
export function stepAfter(failure: ModelFailure, { settings }: ModelSource, attempt: number): NextStep {
  const { retries = RETRIES, maxRetryWaitMs: maxWaitMs = MAX_RETRY_WAIT_MS } = settings
  return afterFailure(failure, { attempt, retries, maxWaitMs })
}

/** A model is looked up before it is asked, and may not be there. */
export function notAsked(cause: unknown, secrets: Redactor = NO_SECRETS): ModelFailure {
  const message = thrownText(cause, secrets)
  return new ModelFailure(cause instanceof Interrupted ? 'aborted' : 'invalid', { message, cause })
}
