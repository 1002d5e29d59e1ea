/**
 * The secrets of those who ask, in memory and nowhere else (R19). They come with an inbox entry, or with the request to go
 * on, and are for the turn which that begins, and for the one who asked: nobody else's turn ever sees them.
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

interface Entrusted {
  readonly principal: Principal
  readonly credentials: Credentials
}

export class Vault {
  /** By the key of the entry that they came with, and then by where it stands. */
  readonly #waiting = new Map<string | number, Entrusted>()
  /** For whoever goes on with what is there. */
  #continuing: Entrusted | undefined
  #current: (Entrusted & { readonly turn: number }) | undefined
  /** They are as secret as what is in them. */
  readonly callArguments: CallArguments = new CallArguments()

  /** `key`: of the inbox entry that they came with; undefined for a turn that just goes on. */
  entrust(key: string | undefined, entrusted: Entrusted): void {
    if (key === undefined) this.#continuing = entrusted
    else this.#waiting.set(key, entrusted)
  }

  /** The entries that they came with were refused. */
  forget(keys: readonly string[]): void {
    for (const key of keys) this.#waiting.delete(key)
  }

  /** For a turn that runs already: only from the one whose turn it is. */
  refresh(turn: number, entrusted: Entrusted, asker: Principal): void {
    if (isSame(entrusted.principal, asker)) this.#current = { ...entrusted, turn }
  }

  /** An entry has become durable. `asker`: whose turn is open after it. */
  follow(entry: Entry, asker: Principal | undefined): void {
    if (entry.type === 'turn.start') this.#current = undefined
    if (entry.type === 'turn.end') this.#current = undefined
    if (entry.key !== undefined) this.#move(entry.key, entry.seq)
    const taken = (entry.takes ?? []).flatMap((seq) => this.#take(seq) ?? [])
    if (entry.type === 'turn.start' && taken.length === 0 && this.#continuing !== undefined) {
      taken.push(this.#continuing)
      this.#continuing = undefined
    }
    if (entry.type === 'take' && entry.data['as'] === 'nothing') return
    for (const entrusted of taken) if (asker !== undefined) this.refresh(entry.turn, entrusted, asker)
  }

  /** The secrets for this turn of this person, if they are here. */
  of(turn: number, principal: Principal): Credentials | undefined {
    const current = this.#current
    return current?.turn === turn && isSame(current.principal, principal) ? current.credentials : undefined
  }

  /** The data of an entry without the secrets of the turn that runs. */
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

  /** Found elsewhere, for the rest of this turn. */
  keep(turn: number, entrusted: Entrusted): void {
    this.#current = { ...entrusted, turn }
  }

  #move(key: string, seq: number): void {
    const entrusted = this.#take(key)
    if (entrusted !== undefined) this.#waiting.set(seq, entrusted)
  }

  #take(key: string | number): Entrusted | undefined {
    const entrusted = this.#waiting.get(key)
    this.#waiting.delete(key)
    return entrusted
  }
}

function isSame(a: Principal, b: Principal): boolean {
  return a.tenant === b.tenant && a.actor === b.actor
}

/** Nothing can be cut out of a file. */
function checkFiles(message: UserContent | undefined, secrets: Redactor): void {
  if (message === undefined || typeof message === 'string') return
  if (!message.some((part) => part.type === 'file' && secrets.isIn(part.data))) return
  throw new HoldfastError('invalid-option', {
    message: 'A file of the message contains one of the credentials. Take it out first. Nothing was stored.',
  })
}
