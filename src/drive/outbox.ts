/**
 * Brings the posts of callers into the inbox of a conversation, each caller judged alone. It neither drives nor listens.
 *
 * P1  The posts of one caller are one append, shared with no other caller. So a refusal is about one caller.
 * P2  The claim that opens a turn may carry the posts of one caller, which saves a commit: only if nothing is open,
 *     nothing waits in the inbox and no other caller is on the way. The turn that it opens takes what it carries.
 * P3  A claim that was refused for what it carries is made again without it; the posts are judged alone (P1).
 * P4  Callers post in the order of asking.
 * P5  A caller is refused only if nothing of it is stored. Once stored, it is told of a turn, or that it waits.
 * P6  A full inbox refuses callers, never the driver. Whoever finds it full drives.
 */
import { type Entry, type ErrorCode, HoldfastError, type NewInboxEntry } from '../protocol/index.ts'
import { heardAndPruned } from './refusal.ts'
import type { TurnSubscription } from './turn-subscription.ts'

export interface Caller {
  readonly subscription: TurnSubscription
  readonly posts: readonly NewInboxEntry[]
  /** The key that the sender chose: it may have been posted before. */
  readonly repeats?: string
}

export interface OutboxOptions {
  /** Returns the entries that were not in the inbox before. */
  readonly post: (posts: readonly NewInboxEntry[]) => Promise<readonly Entry[]>
  /** May the next claim carry the posts of a caller (P2)? */
  readonly mayCarry: () => boolean
  /** While a claim is on its way: resolves when it is decided (P4). */
  readonly opening: () => Promise<void> | undefined
  /** Tells a caller of the turn that took its message; false if the journal does not reach back to it. */
  readonly join: (subscription: TurnSubscription, posted: string) => Promise<boolean>
}

/** What an append is refused for because of what one caller wants to post. */
const OF_THE_CALLER: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'key-reused',
  'inbox-full',
  'invalid-entry',
  'too-large',
  'not-pending',
])

export function isOfTheCaller(error: unknown): boolean {
  return HoldfastError.is(error) && OF_THE_CALLER.has(error.code)
}

const NONE: readonly NewInboxEntry[] = []

export class Outbox {
  readonly #options: OutboxOptions
  /** The caller whose posts the next claim is to carry (P2). */
  #offered: Caller | undefined
  /** The caller whose posts are on their way with a claim. */
  #carried: Caller | undefined

  constructor(options: OutboxOptions) {
    this.#options = options
  }

  /** The posts that the next claim is to carry. */
  get offered(): readonly NewInboxEntry[] {
    return this.#offered?.posts ?? NONE
  }

  /** Posts, or leaves it to the next claim. Throws if this caller is refused. */
  async send(caller: Caller, { isAlone }: { readonly isAlone: boolean }): Promise<void> {
    for (let opening = this.#options.opening(); opening !== undefined; opening = this.#options.opening())
      await opening
    if (isAlone && this.#offered === undefined && this.#options.mayCarry()) {
      this.#offered = caller
      return
    }
    await this.postOffered()
    await this.#post(caller)
  }

  /** A claim takes the posts along. */
  carry(): readonly NewInboxEntry[] {
    const { offered } = this
    this.#carried = this.#offered
    this.#offered = undefined
    return offered
  }

  /** The claim was granted: the posts that it carried are stored. */
  stored(): void {
    this.#carried?.subscription.markStored()
    this.#carried = undefined
  }

  /** The claim was not granted: the posts are left to the next one, unless somebody posts them before. */
  returned(): void {
    this.#offered ??= this.#carried
    this.#carried = undefined
  }

  /** The posts that were left to a claim are posted without one (P3, P4). */
  async postOffered(): Promise<void> {
    const caller = this.#offered
    if (caller === undefined) return
    this.#offered = undefined
    try {
      await this.#post(caller)
    } catch (error) {
      caller.subscription.refuse(error)
    }
  }

  /** The posts that were left to a claim are not posted at all: their caller is refused by whoever drops them. */
  drop(): void {
    this.#offered = undefined
  }

  async #post({ subscription, posts, repeats }: Caller): Promise<void> {
    const added = await this.#options.post(posts)
    subscription.markStored()
    if (repeats === undefined || added.some(({ key }) => key === repeats)) return
    // Sent before: this caller listens to what has become of it.
    if (!(await this.#options.join(subscription, repeats))) throw heardAndPruned(repeats)
  }
}
