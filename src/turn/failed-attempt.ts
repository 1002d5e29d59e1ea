/** The end of a failed attempt at a model: its entry, the hooks, and the end of the turn if no attempt follows. */
import type { ModelError } from '../hook/index.ts'
import type { Batch } from '../loop/index.ts'
import type { ModelFailure } from '../model/index.ts'
import { type EntryData, HoldfastError, type JsonObject } from '../protocol/index.ts'
import type { ModelSource } from './definition.ts'
import { endTurn } from './ending.ts'
import { runPhase } from './hooks.ts'
import { attemptAfter } from './model-retry.ts'
import { canMakeRoom, NO_ROOM } from './overflow.ts'
import { continuesWithout, warnRefused } from './refused-files.ts'
import { withSafeEnd } from './reply-secrets.ts'
import type { TurnRun } from './turn-run.ts'

export const NOTHING_TO_SAY = {
  code: 'nothing-to-say',
  message: 'The conversation has no message that a model could answer. Send a message first.',
}

/** Without the refused files, or with a shorter prompt, the request is another one. */
const AGAIN = { next: 'retry', waitMs: 0 } as const

interface FailedAttempt {
  readonly failure: ModelFailure
  readonly index: number
  readonly attempt: number
}

export async function* takeFailure(
  run: TurnRun,
  source: ModelSource,
  { failure, index, attempt }: FailedAttempt,
): AsyncGenerator<Batch, void> {
  if (run.isReleasing && failure.kind === 'aborted') {
    // A stopping driver leaves here: the next one makes the attempt again.
    yield run.commit('wait')
    return
  }
  if (run.cancelledOrTimedOut.aborted) {
    appendAborted(run, source, failure)
    return
  }
  const continues = await continuesWithout(run, failure)
  const isFinal = index + 1 >= run.scope.definition.models.length
  const isAgain = continues || (isFinal && (await canMakeRoom(run, failure)))
  const step = isAgain ? AGAIN : attemptAfter(failure, source, attempt)
  const isLast = step.next === 'fallback' && isFinal
  const { next } = isLast ? { next: 'fail' } : step
  appendFailure(run, source, { failure, step: isLast ? { next } : step })
  if (continues) warnRefused(run, source, failure)
  const { kind, message } = failure
  yield* runErrorHooks(run, {
    message: run.secrets.ended(message),
    model: source.name,
    kind,
    next,
    cause: failure.cause ?? failure,
  })
  if (!isLast) return
  run.threw({ kind: 'model', name: source.name }, failure)
  run.failedBy(failure.cause ?? failure)
  await endTurn(run, 'failed', { error: errorOf(run, failure) })
}

export async function* runErrorHooks(
  run: TurnRun,
  failure: Omit<ModelError, 'source'>,
): AsyncGenerator<Batch, void> {
  const error: ModelError = { source: 'model', ...failure }
  yield* runPhase(run, 'onError', () => () => ({ error }))
}

export function sentTo({ sent }: TurnRun): Pick<EntryData['model.end'], 'sent'> {
  return sent === undefined ? {} : { sent }
}

/** Keeps the partial reply: the person has read it. */
function appendAborted(run: TurnRun, { name }: ModelSource, { partial, usage }: ModelFailure): void {
  const content = partial.map((part) => withSafeEnd(run, part))
  run.draft.append('model.end', { content, finish: 'aborted', model: name, usage, ...sentTo(run) })
}

function appendFailure(
  run: TurnRun,
  { name }: ModelSource,
  { failure, step }: { failure: ModelFailure; step: { readonly next: string; readonly waitMs?: number } },
): void {
  const error: JsonObject = { ...failureData(run, failure), ...step }
  const { usage } = failure
  run.draft.append('model.end', { content: [], finish: 'error', model: name, usage, error, ...sentTo(run) })
}

function errorOf(run: TurnRun, failure: ModelFailure): JsonObject {
  const { cause } = failure
  const code = HoldfastError.is(cause) ? cause.code : 'model'
  const known =
    cause === NOTHING_TO_SAY || cause === NO_ROOM ? (cause as { readonly code: string }) : { code }
  return { ...known, ...failureData(run, failure) }
}

/** The provider's message may be shortened, and end inside a secret. */
function failureData(run: TurnRun, failure: ModelFailure): JsonObject {
  return { ...failure.toData(), message: run.secrets.ended(failure.message) }
}
