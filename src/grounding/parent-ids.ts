/** The judged ids of one call by the objects that they are in: a part looks up the ids of its parent beside it. */
import type { FoundId, Path } from './marks.ts'

/** Each id is found by its object in one step, so a call with many ids costs a lookup for each. */
export class ParentIds {
  /** By entity and object: the ids directly in it, and all ids in it or below it. */
  readonly #at = new Map<string, string[]>()
  readonly #within = new Map<string, string[]>()

  /** A destination is no parent. */
  add({ path, entities, isDestination }: FoundId, id: string): void {
    if (isDestination) return
    const container = containerOf(path)
    for (const entity of entities) {
      push(this.#at, keyOf(entity, container), id)
      for (let depth = 0; depth <= container.length; depth++)
        push(this.#within, keyOf(entity, container.slice(0, depth)), id)
    }
  }

  /** The ids of an entity in the object of a path or inside of it, else in the nearest object around it. */
  beside(path: Path, entity: string): readonly string[] {
    const home = containerOf(path)
    const within = this.#within.get(keyOf(entity, home))
    if (within !== undefined) return within
    for (let depth = home.length - 1; depth >= 0; depth--) {
      const around = this.#at.get(keyOf(entity, home.slice(0, depth)))
      if (around !== undefined) return around
    }
    return []
  }
}

function push(lists: Map<string, string[]>, key: string, id: string): void {
  const known = lists.get(key)
  if (known === undefined) lists.set(key, [id])
  else known.push(id)
}

function keyOf(entity: string, container: Path): string {
  return JSON.stringify([entity, ...container])
}

/** The object or list that contains a path. */
function containerOf(path: Path): Path {
  const name = path.findLastIndex((step) => typeof step === 'string')
  return path.slice(0, Math.max(0, name))
}
