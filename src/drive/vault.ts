/**
 * The secrets of those who ask, in memory and nowhere else (R19). They come with an inbox entry, or with the wish to go
 * on, and are for the turn which that begins, and for the one who asked: nobody else's turn ever sees them.
 */
import type { Entry, Principal } from '../protocol/index.ts'
import type { Credentials } from '../tool/index.ts'

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

  /** `key`: of the inbox entry that they came with; undefined for a turn that just goes on. */
  entrust(key: string | undefined, entrusted: Entrusted): void {
    if (key === undefined) this.#continuing = entrusted
    else this.#waiting.set(key, entrusted)
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
