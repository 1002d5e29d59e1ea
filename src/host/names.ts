/**
 * Which agent or graph a conversation belongs to, by its id alone: `support:4711` belongs to `support`, and an id without a
 * name to the host's default. So a host that restarts knows what to open without reading a journal.
 */
import { HoldfastError, quote } from '../protocol/index.ts'

const NAME = /^[\p{L}\p{N}_-][\p{L}\p{N}._-]{0,63}$/u

export class Names<T> {
  readonly #entries: ReadonlyMap<string, T>
  readonly #default: string

  /** The first name is the default unless another is given. */
  constructor(entries: readonly (readonly [name: string, entry: T])[], byDefault?: string) {
    const [first] = entries
    if (first === undefined)
      throw invalid(
        'A host needs at least one agent or graph: createHost({ store, agents: { support: { … } } }).',
      )
    for (const [at, [name]] of entries.entries()) {
      if (!NAME.test(name))
        throw invalid(
          `${quote(name)} is no name for a host: use letters, digits, "_", "." and "-", at most 64.`,
        )
      if (entries.findIndex(([other]) => other === name) !== at)
        throw invalid(`Two agents, graphs or flows of the host are called ${quote(name)}. Rename one.`)
    }
    this.#entries = new Map(entries)
    this.#default = byDefault ?? first[0]
    if (!this.#entries.has(this.#default))
      throw invalid(
        `The default of the host is ${quote(this.#default)}, and there is no agent or graph of that name.`,
      )
  }

  get all(): readonly string[] {
    return [...this.#entries.keys()]
  }

  /** The id of a conversation with one of the names. */
  contextId(name: string, id: string): string {
    return `${name}:${id}`
  }

  /** The name in an id, and its agent or graph; undefined if the host has none of that name. */
  find(contextId: string): { readonly name: string; readonly entry: T } | undefined {
    const colon = contextId.indexOf(':')
    const name = colon < 0 ? this.#default : contextId.slice(0, colon)
    const entry = this.#entries.get(name)
    return entry === undefined ? undefined : { name, entry }
  }

  get(name: string): T | undefined {
    return this.#entries.get(name)
  }
}

function invalid(message: string): HoldfastError {
  return new HoldfastError('invalid-option', { message })
}
