/**
 * Keeps the credentials of callers, in memory only (R19). They come with an inbox entry or a request to continue, and
 * are visible only to the turn that it begins, for the principal who sent it.
 */

import { CallArguments, redactEntry } from '../loop/index.ts'
import {
  type Entry,
  HoldfastError,
  type JsonObject,
  type NewInboxEntry,
  type Principal,
  type UserContent,
} from '../protocol/index.ts'
import { type Credentials, type Redactor, redactorOf } from '../tool/index.ts'

interface PrincipalCredentials {
  readonly principal: Principal
  readonly credentials: Credentials
}

export class Vault {
  /** By the key of the inbox entry, and by its position once stored. */
  readonly #waiting = new Map<string | number, PrincipalCredentials>()
  /** Credentials of a request to continue. */
  #continuing: PrincipalCredentials | undefined
  #current: (PrincipalCredentials & { readonly turn: number }) | undefined
  /** As secret as the credentials in them. */
  readonly callArguments: CallArguments = new CallArguments()

  /** `key`: of the inbox entry; undefined for a request to continue. */
  put(key: string | undefined, secrets: PrincipalCredentials): void {
    if (key === undefined) this.#continuing = secrets
    else this.#waiting.set(key, secrets)
  }

  /** The entries of these keys were refused. */
  forget(keys: readonly string[]): void {
    for (const key of keys) this.#waiting.delete(key)
  }

  /** Replaces the credentials of a running turn, if they are from its principal. */
  refresh(turn: number, secrets: PrincipalCredentials, asker: Principal): void {
    if (isSame(secrets.principal, asker)) this.#current = { ...secrets, turn }
  }

  /** Moves credentials with a durable entry. `asker`: the principal of the turn that is open after it. */
  follow(entry: Entry, asker: Principal | undefined): void {
    if (entry.type === 'turn.start' || entry.type === 'turn.end') this.#current = undefined
    if (this.#waiting.size === 0 && this.#continuing === undefined) return
    if (entry.key !== undefined) this.#move(entry.key, entry.seq)
    const taken = (entry.takes ?? []).flatMap((seq) => this.#take(seq) ?? [])
    if (entry.type === 'turn.start' && taken.length === 0 && this.#continuing !== undefined) {
      taken.push(this.#continuing)
      this.#continuing = undefined
    }
    if (entry.type === 'take' && entry.data['as'] === 'nothing') return
    for (const secrets of taken) if (asker !== undefined) this.refresh(entry.turn, secrets, asker)
  }

  /** The credentials of this principal for this turn, if they are here. */
  of(turn: number, principal: Principal): Credentials | undefined {
    const current = this.#current
    return current?.turn === turn && isSame(current.principal, principal) ? current.credentials : undefined
  }

  /** The data of an entry without the running turn's secrets. */
  hide<T extends JsonObject>(type: string, data: T): T {
    const current = this.#current
    return current === undefined ? data : redactEntry(type, data, redactorOf(current.credentials))
  }

  /** Inbox entries without the credentials that come with them. Throws `invalid-option` if a file contains one. */
  withoutSecrets(
    posts: readonly NewInboxEntry[],
    credentials: Credentials | undefined,
  ): readonly NewInboxEntry[] {
    if (credentials === undefined) return posts
    const secrets = redactorOf(credentials)
    return posts.map((post) => {
      if (secrets.isIn(post.key))
        throw new HoldfastError('invalid-option', {
          message: 'The `key` contains one of the credentials, and keys are stored. Use another key.',
        })
      const data = redactEntry(post.type, post.data, secrets)
      if (data !== post.data) checkFiles(post.data['message'] as UserContent | undefined, secrets)
      return { ...post, data }
    })
  }

  /** Keeps credentials found elsewhere, for the rest of this turn. */
  keep(turn: number, secrets: PrincipalCredentials): void {
    this.#current = { ...secrets, turn }
  }

  #move(key: string, seq: number): void {
    const secrets = this.#take(key)
    if (secrets !== undefined) this.#waiting.set(seq, secrets)
  }

  #take(key: string | number): PrincipalCredentials | undefined {
    const secrets = this.#waiting.get(key)
    this.#waiting.delete(key)
    return secrets
  }
}

function isSame(a: Principal, b: Principal): boolean {
  return a.tenant === b.tenant && a.actor === b.actor
}

/** Throws for a file with a secret: files cannot be redacted. */
function checkFiles(message: UserContent | undefined, secrets: Redactor): void {
  if (message === undefined || typeof message === 'string') return
  if (!message.some((part) => part.type === 'file' && secrets.isIn(part.data))) return
  throw new HoldfastError('invalid-option', {
    message: 'A file of the message contains one of the credentials. Take it out first. Nothing was stored.',
  })
}
