/**
 * Posts the messages of callers to the inbox of a conversation, each caller judged alone. It must not drive or publish.
 *
 * P1  The posts of one caller are one append, shared with no other caller. So a refusal is about one caller. Only the
 *     cancel of an interrupt under a key of the sender's comes after its message: a message that was sent before and has
 *     been taken cancels nothing. One that still waits cancels the running turn, once.
 * P2  The claim that opens a turn may carry the posts of one caller, which saves a commit: only if no turn is open, the
 *     inbox is empty and no other caller is entering. The opened turn takes the carried posts.
 * P3  A claim that was refused for its posts is repeated without them; the posts are judged alone (P1).
 * P4  Callers post in the order of their requests.
 * P5  A caller is refused only if nothing of it is stored, nor will be: while the store decides on a write, its refusal
 *     waits, and the posts of a caller that has ended are not written. Once stored, it gets a turn, or an outcome with
 *     `stored`. Only after a write of unknown outcome it gets `ambiguous`.
 * P6  A full inbox refuses callers, never the driver. A caller that finds it full starts the pump.
 */
import { hash } from 'node:crypto'
import type { MaybePromise } from '../base/index.ts'
import type { Continuation } from '../loop/index.ts'
import { type Entry, type ErrorCode, HoldfastError, type NewInboxEntry } from '../protocol/index.ts'
import type { PendingWork } from './driver-options.ts'
import { prunedError } from './refusal.ts'
import type { TurnSubscription } from './turn-subscription.ts'

export interface Caller {
  readonly subscription: TurnSubscription
  readonly posts: readonly NewInboxEntry[]
  /** The key that the sender chose: it may have been posted before. */
  readonly repeats?: string
  /** Posted after `posts`, unless these were posted before and have been taken. */
  readonly following?: readonly NewInboxEntry[]
  /** Called before the posts are written, each time. */
  readonly onWrite?: () => void
}

export interface OutboxOptions {
  /** Returns the entries that were not in the inbox before. */
  readonly post: (posts: readonly NewInboxEntry[]) => Promise<readonly Entry[]>
  /** The first request to continue without a new input. */
  readonly continuing: () => Continuation | undefined
  /** True if the next claim may carry the posts of a caller (P2). */
  readonly mayCarry: () => boolean
  /** While a claim is under way: resolves when it is decided (P4). */
  readonly opening: () => Promise<void> | undefined
  /** True if no turn has taken the entry posted under this key. */
  readonly isWaiting: (posted: string) => Promise<boolean>
  /** Subscribes a caller to the turn that took its message; false if the journal does not reach back to it. */
  readonly join: (subscription: TurnSubscription, posted: string) => Promise<boolean>
}

/** Refusals of an append for the posts of one caller. */
const CALLER_ERRORS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'key-reused',
  'inbox-full',
  'invalid-entry',
  'too-large',
  'not-pending',
])

export function isCallerError(error: unknown): boolean {
  return HoldfastError.is(error) && CALLER_ERRORS.has(error.code)
}

const NONE: readonly NewInboxEntry[] = []

/** The posts of a caller; under a key of the sender's, a cancel follows the message (P1). */
export function callerPosts(
  posts: readonly NewInboxEntry[],
  repeats: string | undefined,
): Pick<Caller, 'posts' | 'repeats' | 'following'> {
  if (repeats === undefined) return { posts }
  if (posts.length === 1) return { posts, repeats }
  const isCancel = ({ type }: NewInboxEntry): boolean => type === 'cancel'
  const following = posts.filter(isCancel).map((cancel) => ({ ...cancel, key: cancelKey(repeats, cancel) }))
  return { posts: posts.filter((post) => !isCancel(post)), following, repeats }
}

/** The same for a message that is sent again during the same turn, so its cancel is stored once. */
function cancelKey(repeats: string, { data }: NewInboxEntry): string {
  return `cancel:${hash('sha256', JSON.stringify([data['turn'], repeats]))}`
}

export class Outbox implements PendingWork {
  readonly #options: OutboxOptions
  /** The caller whose posts the next claim will carry (P2). */
  #queued: Caller | undefined
  /** The caller whose posts a claim under way carries. */
  #carried: Caller | undefined

  constructor(options: OutboxOptions) {
    this.#options = options
  }

  /** The posts that the next claim will carry. */
  get queued(): readonly NewInboxEntry[] {
    return this.#queued?.posts ?? NONE
  }

  /** True if no request needs a turn to begin. */
  get isEmpty(): boolean {
    return this.queued.length === 0 && this.continuing === undefined
  }

  get continuing(): Continuation | undefined {
    return this.#options.continuing()
  }

  /** Posts, or queues for the next claim. Throws if this caller is refused; does nothing for one that has ended (P5). */
  send(caller: Caller, { isAlone }: { readonly isAlone: boolean }): MaybePromise<void> {
    const { opening, mayCarry } = this.#options
    if (caller.subscription.turn.isEnded) return
    const decided = opening()
    if (decided !== undefined) return decided.then(() => this.send(caller, { isAlone }))
    if (!isAlone || this.#queued !== undefined || !mayCarry()) return this.#postAfterQueued(caller)
    this.#queued = caller
  }

  async #postAfterQueued(caller: Caller): Promise<void> {
    await this.postQueued()
    await this.#post(caller)
  }

  /** Hands the queued posts to a claim. */
  carry(): readonly NewInboxEntry[] {
    const { queued } = this
    this.#carried = this.#queued
    this.#queued = undefined
    if (this.#carried !== undefined) startWrite(this.#carried)
    return queued
  }

  /** The claim was granted: its posts are stored. */
  stored(): void {
    this.#carried?.subscription.markStored()
    this.#carried = undefined
  }

  /** The claim was not granted: its posts are queued again, unless their caller was refused meanwhile (P5). */
  returned(error?: unknown): void {
    const caller = this.#carried
    this.#carried = undefined
    caller?.subscription.markUnwritten(error)
    if (caller?.subscription.turn.isEnded === false) this.#queued ??= caller
  }

  /** Posts the queued posts without a claim (P3, P4). */
  async postQueued(): Promise<void> {
    const caller = this.#queued
    if (caller === undefined) return
    this.#queued = undefined
    try {
      await this.#post(caller)
    } catch (error) {
      caller.subscription.refuse(error)
    }
  }

  /** Drops the queued posts. The caller of this method refuses their sender. */
  drop(): void {
    this.#queued = undefined
  }

  async #post(caller: Caller): Promise<void> {
    const { subscription, posts, repeats, following = NONE } = caller
    if (subscription.turn.isEnded) return
    startWrite(caller)
    const added = await this.#options.post(posts).catch((error: unknown) => {
      subscription.markUnwritten(error)
      throw error
    })
    subscription.markStored()
    const isNew = repeats === undefined || added.some(({ key }) => key === repeats)
    const isFollowed = following.length > 0 && (isNew || (await this.#options.isWaiting(repeats)))
    if (isFollowed) await this.#options.post(following)
    if (isNew) return
    // A duplicate: subscribe to the turn that took it.
    if (!(await this.#options.join(subscription, repeats))) throw prunedError(repeats)
  }
}

function startWrite({ subscription, onWrite }: Caller): void {
  subscription.startWrite()
  onWrite?.()
}
