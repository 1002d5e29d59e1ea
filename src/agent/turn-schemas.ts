/**
 * The output schemas that callers of this process gave to turns. The journal has their JSON Schema only, so another process
 * validates without refinements and transformations.
 */
import type { JsonObject } from '../protocol/index.ts'
import type { StandardSchema } from '../tool/index.ts'
import { outputSchema } from '../turn/index.ts'

const MOST_SCHEMAS = 200

export class TurnSchemas {
  readonly #schemas = new Map<string, StandardSchema>()

  /** Checks a schema, and returns its JSON Schema, which finds it for a turn that continues another. */
  add(given: unknown): JsonObject {
    const { schema, json } = outputSchema('output', given)
    this.keep(JSON.stringify(json), schema)
    return json
  }

  /** Under the key of an input: two schemas may have the same JSON Schema. */
  keep(name: string, schema: StandardSchema): void {
    this.#schemas.delete(name)
    this.#schemas.set(name, schema)
    const [oldest] = this.#schemas.keys()
    if (this.#schemas.size > MOST_SCHEMAS && oldest !== undefined) this.#schemas.delete(oldest)
  }

  /** The schema of the first of these names that is known. */
  readonly named = (names: readonly string[]): StandardSchema | undefined => {
    const known = names.find((name) => this.#schemas.has(name))
    return known === undefined ? undefined : this.#schemas.get(known)
  }
}
