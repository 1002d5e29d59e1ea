/**
 * Layer 2 of a prompt: what the tools of the last few turns showed, as ids with labels. Turns are counted, not messages,
 * and only those that used tools.
 */
import type { Sighting } from '../protocol/index.ts'
import { type Entities, undeclared } from './entity.ts'
import { plainLine } from './plain-line.ts'
import { calledIn, capital, type WordsOptions, wordsFor } from './words.ts'

/** What the tools of one turn showed, in order. */
export interface ToolTurn {
  readonly turn: number
  readonly seen: readonly Sighting[]
}

export interface ToolMemoryOptions extends WordsOptions {
  readonly entities: Entities
  /** How many turns that used tools count, at most 3; 3 unless said otherwise. With 0 there is no block. */
  readonly turns?: number
  /** Rows of each entity; 12 unless said otherwise. */
  readonly rows?: number
  /** Characters of the whole block, about two for a token where ids are long; 900 unless said otherwise. */
  readonly characters?: number
  readonly handle?: (entity: string, id: string) => string
}

/**
 * A line for each entity: `Projects: [{"id":"abc-123","label":"Champigny"}]`. Each thing is there once, as it was shown
 * last; newer ones come first into the block, and rows keep the order in which they were shown. Undefined if nothing was
 * shown.
 */
export function toolMemoryBlock(turns: readonly ToolTurn[], options: ToolMemoryOptions): string | undefined {
  const { rows = 12, characters = 900 } = options
  const words = wordsFor(options)
  const groups = grouped(turns, Math.min(3, options.turns ?? 3))
  if (groups.size === 0) return undefined
  const share = Math.floor((characters - words.memoryHeading.length - 4) / groups.size)
  const lines = [...groups].map(([entity, seen]) => groupLine({ entity, seen, rows, share }, options))
  return [`[${words.memoryHeading}:`, ...lines, ']'].join('\n')
}

/** By entity; the rows of the newest turn first. */
function grouped(turns: readonly ToolTurn[], most: number): ReadonlyMap<string, Things> {
  const withTools = turns.filter(({ seen }) => seen.length > 0).toSorted((a, b) => b.turn - a.turn)
  const groups = new Map<string, Things>()
  for (const { seen } of withTools.slice(0, most)) {
    for (const [entity, things] of thingsIn(seen)) {
      const newer = groups.get(entity)
      // Rows of newer turns come first, and a thing is as it was shown last.
      groups.set(entity, newer === undefined ? things : new Map([...newer, ...things, ...newer]))
    }
  }
  return groups
}

/** The things of one turn by entity, each as it was shown last, in the order in which they were shown. */
function thingsIn(seen: readonly Sighting[]): ReadonlyMap<string, Things> {
  const [first] = seen
  const known = first && TURNS.get(first)
  if (known !== undefined && known.length === seen.length && known.last === seen.at(-1)) return known.things
  const things = new Map<string, Map<string, Sighting>>()
  for (const one of seen) {
    const group = things.get(one.entity) ?? new Map<string, Sighting>()
    things.set(one.entity, group)
    group.set(one.id, one)
  }
  if (first !== undefined) TURNS.set(first, { length: seen.length, last: seen.at(-1), things })
  return things
}

type Things = ReadonlyMap<string, Sighting>

/** Every prompt of a turn shows the same things, and a turn only ever adds to what it has shown. */
const TURNS = new WeakMap<
  Sighting,
  {
    readonly length: number
    readonly last: Sighting | undefined
    readonly things: ReadonlyMap<string, Things>
  }
>()

interface Group {
  readonly entity: string
  readonly seen: Things
  readonly rows: number
  readonly share: number
}

function groupLine({ entity, seen, rows, share }: Group, options: ToolMemoryOptions): string {
  const { entities, language, handle = (_, id) => id } = options
  const words = wordsFor(options)
  const { one, many } = calledIn(entities.get(entity) ?? undeclared(entity), language)
  const shown: string[] = []
  let length = 0
  for (const { id, label } of seen.values()) {
    if (shown.length === rows) break
    const name = label === undefined ? {} : { label: plainLine(label, LONGEST_LABEL) }
    const row = JSON.stringify({ id: handle(entity, id), ...name })
    length += row.length + 1
    if (length > share && shown.length > 0) break
    shown.push(row)
  }
  const rest = seen.size - shown.length
  return `${capital(many ?? `${one}s`)}: [${shown.join(',')}]${rest > 0 ? ` ${words.more(rest)}` : ''}`
}

const LONGEST_LABEL = 60
