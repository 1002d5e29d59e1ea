/** What callers want the next turn of a conversation to begin with, until a claim takes it: `outbox.ts` has the rules. */
import type { NewInboxEntry } from '../protocol/index.ts'
import type { Continuation } from '../turn/index.ts'

export class Offers {
  #posts: readonly NewInboxEntry[] = []
  #continuing: Continuation | undefined
  #isTried = false

  get isEmpty(): boolean {
    return this.#posts.length === 0 && this.#continuing === undefined
  }

  /** The posts of one caller (P2). */
  get posts(): readonly NewInboxEntry[] {
    return this.#posts
  }

  get continuing(): Continuation | undefined {
    return this.#continuing
  }

  /** A turn was opened without the posts, or the claim that carried them was refused. */
  get isLeftBehind(): boolean {
    return this.#isTried && this.#posts.length > 0
  }

  post(posts: readonly NewInboxEntry[]): void {
    this.#posts = posts
    this.#isTried = false
  }

  continue(continuing: Continuation): void {
    this.#continuing = continuing
  }

  /** A claim is about to be made, with the posts or without. */
  markTried(): void {
    this.#isTried = true
  }

  withdrawPosts(): void {
    this.#posts = []
  }

  withdrawContinuing(): Continuation | undefined {
    const continuing = this.#continuing
    this.#continuing = undefined
    return continuing
  }
}
