/**
 * Keeps the credentials of callers, in memory only (R19). They come with an inbox entry or a request to continue, and
 * are visible only to the turn that it begins, for the principal who sent it. They are dropped with the end of that turn,
 * whichever process drives it, and with the end of the caller's request, if no turn has got them by then.
 */
import { chain, type MaybePromise } from '../base/index.ts'
import type { Session } from '../journal/index.ts'
import { CallArguments, dataOf, redactEntry } from '../loop/index.ts'
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

/** `caller`: the identity of the request that they came with. */
interface CallerCredentials extends PrincipalCredentials {
  readonly caller: object
}

/** `find`: the function of the config. `session`: the journal's now. */
interface CredentialSource {
  readonly find: ((principal: Principal) => MaybePromise<Credentials | undefined>) | undefined
  readonly session: () => Pick<Session, 'turn' | 'open'>
}

export class Vault {
  /** By the key of the inbox entry, and by its position once stored. */
  readonly #waiting = new Map<string | number, CallerCredentials>()
  /** Credentials of requests to continue. */
  readonly #continuing = new Set<CallerCredentials>()
  #current: (PrincipalCredentials & { readonly turn: number }) | undefined
  /** The newest known turn, and its principal while it is open. */
  #newest: { readonly turn: number; readonly principal?: Principal } = { turn: 0 }
  /** The newest turn whose start was followed. */
  #begun = 0
  /** As secret as the credentials in them. */
  readonly callArguments: CallArguments = new CallArguments()

  /** `keys`: of the inbox entries that they come with; none for a request to continue. */
  put(keys: readonly string[], secrets: CallerCredentials): void {
    if (keys.length === 0) this.#continuing.add(secrets)
    for (const key of keys) this.#waiting.set(key, secrets)
  }

  /** The request of this caller has ended: no later turn gets its credentials. */
  forget(caller: object): void {
    for (const [key, secrets] of this.#waiting) if (secrets.caller === caller) this.#waiting.delete(key)
    for (const secrets of this.#continuing) if (secrets.caller === caller) this.#continuing.delete(secrets)
  }

  /** Replaces the credentials of a running turn, if they are from its principal. */
  refresh(turn: number, secrets: PrincipalCredentials, asker: Principal): void {
    if (isSame(secrets.principal, asker)) this.#current = { ...secrets, turn }
  }

  /** True if credentials are kept for a message that no turn is known to have taken. */
  get hasUnclaimedCredentials(): boolean {
    return this.#waiting.size > 0
  }

  /**
   * Moves credentials with an entry, whichever process wrote it. An entry may come twice, and entries of others after
   * newer ones of this process: an entry of an older turn drops its credentials. `session` may be older than the entry.
   */
  follow(entry: Entry, session: Pick<Session, 'turn' | 'open'>): void {
    const { type, turn } = entry
    this.#learn(entry, session)
    const isStart = type === 'turn.start' && turn > this.#begun
    if (isStart) this.#begun = turn
    if (this.#waiting.size + this.#continuing.size === 0) return
    if (entry.key !== undefined) this.#move(entry.key, entry.seq)
    const taken = (entry.takes ?? []).flatMap((seq) => this.#take(seq) ?? [])
    if (isStart && taken.length === 0) {
      taken.push(...this.#continuing)
      this.#continuing.clear()
    }
    const { principal: asker } = this.#newest
    const isUnused = type === 'take' && entry.data['as'] === 'nothing'
    if (asker === undefined || isUnused || turn !== this.#newest.turn) return
    for (const secrets of taken) this.refresh(turn, secrets, asker)
  }

  /** Learns which turn is open and whose it is; drops the credentials of a turn before it. */
  #learn(entry: Entry, { turn: known, open }: Pick<Session, 'turn' | 'open'>): void {
    const { type, turn } = entry
    if (open !== undefined && open.turn >= this.#newest.turn) this.#newest = open
    else if (known > this.#newest.turn) this.#newest = { turn: known }
    if (type === 'turn.start' && turn > this.#newest.turn)
      this.#newest = { turn, principal: dataOf(entry, 'turn.start').principal }
    if (type === 'turn.end' && turn >= this.#newest.turn) this.#newest = { turn }
    const current = this.#current?.turn ?? 0
    if ((type === 'turn.start' && turn > current) || (type === 'turn.end' && turn >= current))
      this.#current = undefined
  }

  /** The credentials of this principal for this turn, if they are here. */
  of(turn: number, principal: Principal): Credentials | undefined {
    const current = this.#current
    return current?.turn === turn && isSame(current.principal, principal) ? current.credentials : undefined
  }

  /** Those that are here, or those that `find` has, kept while their turn is open. */
  lookUp(principal: Principal, { session, find }: CredentialSource): MaybePromise<Credentials | undefined> {
    const { turn } = session()
    const here = this.of(turn, principal)
    if (here !== undefined || find === undefined) return here
    return chain(find(principal), (credentials) => {
      // A caller may have passed newer ones meanwhile.
      const newer = this.of(turn, principal)
      if (newer !== undefined) return newer
      const isOpen = session().open?.turn === turn
      if (credentials !== undefined && isOpen) this.#current = { principal, credentials, turn }
      return credentials
    })
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

  #move(key: string, seq: number): void {
    const secrets = this.#take(key)
    if (secrets !== undefined) this.#waiting.set(seq, secrets)
  }

  #take(key: string | number): CallerCredentials | undefined {
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
