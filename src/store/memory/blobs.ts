/** The blobs of a memory store, separate for each owner (R16, R20). */
import type { Owner } from '../../protocol/index.ts'
import { hashOf } from '../encode.ts'

export class Blobs {
  readonly #byOwner = new Map<string, Map<string, Uint8Array>>()

  of({ tenant, actor }: Owner): Map<string, Uint8Array> {
    const owner = `${tenant} ${actor}`
    const blobs = this.#byOwner.get(owner) ?? new Map<string, Uint8Array>()
    this.#byOwner.set(owner, blobs)
    return blobs
  }

  put(owner: Owner, bytes: Uint8Array): string {
    const hash = hashOf(bytes)
    this.of(owner).set(hash, Uint8Array.from(bytes))
    return hash
  }

  /** Returns a copy: stored bytes are immutable. */
  get(owner: Owner, hash: string): Uint8Array | undefined {
    const bytes = this.of(owner).get(hash)
    return bytes && Uint8Array.from(bytes)
  }

  reader(owner: Owner): (hash: string) => Uint8Array | undefined {
    return (hash) => this.of(owner).get(hash)
  }
}
