/** The errors that refuse a request, each with what to do about it. */
import { HoldfastError, invalidOption, type Principal, quote } from '../protocol/index.ts'
import { thrownText } from '../tool/index.ts'

export function shutdownError(contextId: string): HoldfastError {
  return new HoldfastError('shutdown', {
    message: `The agent of ${contextId} was shut down. Call start() to continue; nothing is lost.`,
    details: { contextId },
  })
}

export function pausedError(contextId: string): HoldfastError {
  return new HoldfastError('paused', {
    message: `The agent of ${contextId} is paused. Call resume() first.`,
    details: { contextId },
  })
}

export function endedTurnError(contextId: string): HoldfastError {
  return new HoldfastError('cancelled', {
    message: `The turn of this call has ended in ${contextId}, so nothing more is stored for it. Return what you have.`,
    details: { contextId },
  })
}

export function slowLeaseError(contextId: string, leaseMs: number): HoldfastError {
  return new HoldfastError('store-failed', {
    message: `The store takes over ${leaseMs / 2} ms to renew the lease of ${contextId}, which is half of it, so no effect may start. Raise leaseMs, or use a faster store.`,
    retry: 'later',
    details: { contextId, leaseMs },
  })
}

export function busyError(contextId: string, turn: number): HoldfastError {
  return new HoldfastError('busy', {
    message: `Turn ${turn} of ${contextId} has not ended. Wait for it, or send with whileBusy 'queue', 'steer' or 'interrupt'.`,
    retry: 'later',
    details: { contextId, turn },
  })
}

export function forbiddenError(contextId: string, { tenant, actor }: Principal): HoldfastError {
  return new HoldfastError('forbidden', {
    message: `${quote(actor)} of ${quote(tenant)} is not the owner of ${contextId}, and \`allow\` does not let them in. Set \`owner: { tenant, actor }\` to the owner, or let others in with \`allow\`.`,
    details: { contextId, tenant, actor },
  })
}

export function cancelledEarlyError(): HoldfastError {
  return new HoldfastError('cancelled', {
    message: 'The turn was cancelled before it began. Nothing was stored.',
  })
}

export function checkReason(reason: unknown): void {
  if (reason === undefined || typeof reason === 'string') return
  throw new HoldfastError('invalid-option', { message: 'The reason of a cancel must be a text.' })
}

/** A key names an input; a request to continue has none, so a repeated one could not be recognised. */
export function checkUnkeyed(input: unknown, key: unknown): void {
  if (input !== null || key === undefined) return
  throw invalidOption(
    'key',
    'names an input that is sent once, and null is no input: leave `key` out. null joins an open turn, and continues one that was cut short as a new turn',
  )
}

export function nothingToContinueError(contextId: string, last: string | undefined): HoldfastError {
  const why =
    last === undefined ? `${contextId} has had no turn yet` : `The last turn of ${contextId} is complete`
  return new HoldfastError('nothing-to-continue', {
    message: `${why}: there is nothing to continue. Pass an input instead of null.`,
    details: { contextId },
  })
}

export function waitsForAnswersError(contextId: string, requests: readonly string[]): HoldfastError {
  return new HoldfastError('nothing-to-continue', {
    message: `${contextId} waits for an answer to ${requests.join(', ')}. Call answer(), or send a message to continue without it.`,
    details: { contextId, requests: [...requests] },
  })
}

export function prunedTurnError(contextId: string, turn: number): HoldfastError {
  return new HoldfastError('pruned', {
    message: `Turn ${turn} of ${contextId} has been pruned. It is not run again: continue under a new key.`,
    details: { contextId, turn },
  })
}

export function prunedError(key: string): HoldfastError {
  return new HoldfastError('pruned', {
    message: `The message ${quote(key)} was sent before, and its turn has been pruned since. It is not run again: send the message under a new key.`,
    details: { key },
  })
}

/**
 * The message for a caller whose write has an unknown outcome. `isPosted`: it sent a message or an answer, and no request
 * to continue.
 */
export function unknownOutcomeMessage(message: string, { isPosted }: { readonly isPosted: boolean }): string {
  return isPosted
    ? `${message} The message may or may not be stored. Send it again under the same key: it has one effect. Without a key of yours, read the conversation first.`
    : `${message} The turn may or may not have begun. Read lastTurn() before you continue again.`
}

export function problemOf(error: unknown): { readonly code: string; readonly message: string } {
  if (HoldfastError.is(error)) return { code: error.code, message: error.message }
  return { code: 'unexpected', message: thrownText(error) }
}
