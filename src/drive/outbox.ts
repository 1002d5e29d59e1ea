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
import { type ErrorCode, HoldfastError, type NewInboxEntry } from '../protocol/index.ts'
import type { Audience } from './audience.ts'
import type { Driver } from './driver.ts'
import type { Handle } from './handle.ts'
import { heardAndPruned } from './refusal.ts'

export interface Caller {
  readonly handle: Handle
  readonly posts: readonly NewInboxEntry[]
  /** The key that the sender chose: it may have been posted before. */
  readonly repeats?: string
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

export class Outbox {
  readonly #driver: Driver
  readonly #audience: Audience
  /** Whose posts the next claim is to carry (P2). */
  #offered: Caller | undefined

  constructor(driver: Driver, audience: Audience) {
    this.#driver = driver
    this.#audience = audience
  }

  get hasOffered(): boolean {
    return this.#offered !== undefined
  }

  /** Posts, or leaves it to the next claim. Throws if this caller is refused. */
  async send(caller: Caller, { isAlone }: { readonly isAlone: boolean }): Promise<void> {
    if (isAlone && this.#offered === undefined && this.#driver.mayCarry) {
      this.#offered = caller
      this.#driver.offers.post(caller.posts)
      return
    }
    await this.postOffered()
    await this.#post(caller)
  }

  /** To be called after every step of the driver: a claim that was granted has stored what it carried. */
  settle(): void {
    if (this.#offered === undefined || this.#driver.offers.posts.length > 0) return
    this.#offered.handle.markStored()
    this.#offered = undefined
  }

  /** The posts that were left to a claim are posted without one (P3, P4). */
  async postOffered(): Promise<void> {
    const caller = this.drop()
    if (caller === undefined) return
    try {
      await this.#post(caller)
    } catch (error) {
      caller.handle.refuse(error)
    }
  }

  /** The posts that were left to a claim are not posted at all. */
  drop(): Caller | undefined {
    const caller = this.#offered
    if (caller === undefined) return undefined
    this.#offered = undefined
    this.#driver.offers.withdrawPosts()
    return caller
  }

  async #post({ handle, posts, repeats }: Caller): Promise<void> {
    const added = await this.#driver.ledger.post(posts)
    handle.markStored()
    if (repeats === undefined || added.some(({ key }) => key === repeats)) return
    // Sent before: this caller listens to what has become of it.
    if (!(await this.#audience.join(handle, repeats))) throw heardAndPruned(repeats)
  }
}
