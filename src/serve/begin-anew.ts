/**
 * Erased conversations in protocols whose users name a conversation after a person or a place, and cannot ask for a new
 * beginning: a request without an idempotency key begins it anew. One with a key may be the repetition of a request that ran
 * before the erase, so it is refused, for ever, unless it ran in the conversation that is there now.
 */
import type { Host } from '../host/index.ts'
import { type ContextKey, HoldfastError } from '../protocol/index.ts'
import { erasedProblem } from './problem.ts'

export interface MaybeRepeated {
  /** True if the request has an idempotency key, or says that it is a repetition. */
  readonly isKeyed: boolean
  /** True if the request was posted to the conversation that is there now. */
  readonly wasPosted: () => boolean | Promise<boolean>
}

export async function beginAnew(
  host: Host,
  key: ContextKey,
  { isKeyed, wasPosted }: MaybeRepeated,
): Promise<void> {
  const head = await host.store.head(key)
  const isErased = head?.status === 'erased'
  if (!isErased && head?.erasedUpTo === undefined) return
  if (isKeyed && (isErased || !(await wasPosted()))) throw erasedProblem()
  if (!isErased) return
  try {
    await host.recreate(key)
  } catch (error) {
    // Another request at once has done it.
    if (!HoldfastError.is(error, 'exists')) throw error
  }
}
