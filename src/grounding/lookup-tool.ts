/**
 * Layer 3: a tool that finds a thing by its name. The host searches; this file picks the match and words the result for the
 * model.
 */
import {
  checkOptions,
  defined,
  invalidOption,
  isObject,
  type Json,
  type JsonObject,
  normalLabel,
  type OptionSet,
  quote,
  type Selection,
  type Sighting,
  shown,
} from '../protocol/index.ts'
import { defineTool, jsonSchema, type ToolContext, type ToolGrounding } from '../tool/index.ts'
import { type Entity, isEntity } from './entity.ts'
import { type Candidate, candidate, optionTexts } from './readings.ts'
import { checkFields, type RowFields, sightingsIn } from './rows.ts'
import { nearest } from './suggestions.ts'
import { isTypoOf } from './text-normalize.ts'
import type { GroundedTool } from './tool-grounding.ts'

/**
 * The person's rows that a text may mean. It may return more, all rows included: those that do not match are dropped. For
 * an empty text it returns all, or as many as can be searched.
 */
export type Search<Row> = (text: string, context: ToolContext) => Iterable<Row> | Promise<Iterable<Row>>

export interface LookupOptions<Row> {
  /** Default: `find_project` for an entity named project. */
  readonly name?: string
  readonly description?: string
  /** The fields of a row: its id, label and parent. Default: `id` and `label`. */
  readonly fields?: RowFields<Row>
  /**
   * The search goes by meaning, as that of a vector index does: its rows match whatever their names, best first. Leave out
   * those that are too far from the text.
   */
  readonly byMeaning?: boolean
  /** Selects a single exact match. */
  readonly select?: boolean
  /** The most matches shown. Default: 10. */
  readonly most?: number
}

const LOOKUP: OptionSet<LookupOptions<unknown>> = {
  place: 'lookupTool()',
  options: {
    name: 'a text',
    description: 'a text',
    fields: 'an object',
    byMeaning: 'true or false',
    select: 'true or false',
    most: { least: 1 },
  },
  foreign: { limit: 'most', semantic: 'byMeaning' },
}

/**
 * `exact` and `partial`: this one. `several`: one of these. `none`: no match, `near` are similar. `empty`: there are no
 * rows at all.
 */
export type LookupResult =
  | ({ readonly outcome: 'exact' | 'partial' } & Candidate)
  | { readonly outcome: 'several'; readonly matches: readonly Candidate[]; readonly more?: number }
  | { readonly outcome: 'none'; readonly near?: readonly Candidate[] }
  | { readonly outcome: 'empty' }

export function lookupTool<Row>(
  entity: Entity,
  search: Search<Row>,
  options: LookupOptions<Row> = {},
): GroundedTool<{ readonly name: string }, LookupResult> {
  checkOptions(options, LOOKUP)
  if (!isEntity(entity)) throw invalidOption('lookupTool()', `needs an entity first, not ${shown(entity)}`)
  if (typeof search !== 'function')
    throw invalidOption(
      'lookupTool()',
      `needs a function that searches second, such as \`(text) => rows\`, not ${shown(search)}`,
    )
  const noun = entity.called['en']?.one ?? entity.name
  const { fields = { id: 'id', label: 'label' }, most = 10 } = options
  checkFields('`fields` of lookupTool()', fields)
  const tool = defineTool({
    name: options.name ?? `find_${entity.name.toLowerCase()}`,
    description:
      options.description ??
      `Finds a ${noun} by its name and returns its id. Use it when the person names a ${noun} that is neither active nor among those seen.`,
    input: jsonSchema<{ readonly name: string }>(parameters(noun)),
    replay: 'safe',
    run: async ({ name }, context): Promise<LookupResult> => {
      const read = async (text: string): Promise<readonly Sighting[]> =>
        sightingsIn(entity, await search(text, context), fields)
      const rows = await read(name)
      const found = matching(name, rows)
      if (found.rows.length > 0) return foundResult(found, most)
      if (options.byMeaning && rows.length > 0 && normalLabel(name) !== '')
        return foundResult({ outcome: 'partial', rows }, most)
      const all = await read('')
      if (all.length === 0) return emptyResult(name, await search('', context), fields)
      const again = matching(name, all)
      if (again.rows.length > 0) return foundResult(again, most)
      const near = nearest(name, all.map(candidate))
      return { outcome: 'none', ...(near.length === 0 ? {} : { near }) }
    },
    display: (result) => displayOf(result),
  })
  const grounding: ToolGrounding = {
    lookup: entity.name,
    seen: (output) => sightingsIn(entity, shownIn(output), SHOWN_FIELDS),
    selects: (output) => (options.select ? selectedBy(entity, output) : []),
  }
  return Object.freeze({ ...tool, grounding })
}

/** Rows without any id are a mistake in `fields`: reporting `empty` would be wrong. */
function emptyResult<Row>(name: string, rows: Iterable<Row>, { id }: RowFields<Row>): LookupResult {
  const [row] = Symbol.iterator in rows ? rows : Object.values(rows)
  if (row === undefined) return { outcome: 'empty' }
  const names = typeof row === 'object' && row !== null ? Object.keys(row).join(', ') : typeof row
  throw invalidOption(
    'lookupTool()',
    `found rows for ${quote(name)} and none has an id${typeof id === 'string' ? ` in the field ${quote(id)}` : ''}; they have: ${names}. Set \`fields\``,
  )
}

/** The result for people: names instead of ids where unambiguous. */
function displayOf(result: LookupResult): string {
  if (result.outcome === 'empty') return 'there is none'
  if (result.outcome === 'none') {
    const { near = [] } = result
    return near.length === 0 ? 'not found' : `not found; there is ${optionTexts(near).join(', ')}`
  }
  if (result.outcome !== 'several') return nameOf(result)
  const { matches, more = 0 } = result
  return `${optionTexts(matches).join(', ')}${more === 0 ? '' : ` and ${more} more`}`
}

function nameOf({ id, label, detail }: Candidate): string {
  return label === undefined || detail === undefined ? (label ?? id) : `${label} (${detail})`
}

function parameters(noun: string): JsonObject {
  return {
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 1, description: `The name of the ${noun}, as the person said it.` },
    },
    required: ['name'],
    additionalProperties: false,
  }
}

interface Matches {
  readonly outcome: 'exact' | 'partial'
  readonly rows: readonly Sighting[]
}

/** The best kind of match: the name or the id itself, a part of the name, the name with typos. */
function matching(text: string, rows: readonly Sighting[]): Matches {
  const name = normalLabel(text)
  if (name === '') return { outcome: 'partial', rows: [] }
  const labelOf = ({ label }: Sighting): string => normalLabel(label ?? '')
  const exact = rows.filter((row) => row.id === text.trim() || labelOf(row) === name)
  if (exact.length > 0) return { outcome: 'exact', rows: exact }
  const partial = rows.filter((row) => isPart(name, labelOf(row)))
  if (partial.length > 0) return { outcome: 'partial', rows: partial }
  const typos = rows.filter((row) => isTypoOf(name, labelOf(row)))
  return {
    outcome: 'partial',
    rows: typos.length > 0 ? typos : rows.filter((row) => isPartWithTypos(name, labelOf(row))),
  }
}

/** A substring of the name that starts a word; or the whole name, among other words. */
function isPart(name: string, label: string): boolean {
  if (name === '' || label === '') return false
  return ` ${label}`.includes(` ${name}`) || ` ${name} `.includes(` ${label} `)
}

function isPartWithTypos(name: string, label: string): boolean {
  const words = label.split(' ')
  const length = name.split(' ').length
  return words.some((_, at) => isTypoOf(name, words.slice(at, at + length).join(' ')))
}

function foundResult({ outcome, rows: found }: Matches, most: number): LookupResult {
  // Joined tables and other names give a thing twice, which is no choice.
  const rows = [...Map.groupBy(found, ({ id }) => id).values()].flatMap(([first]) => first ?? [])
  const [first] = rows
  if (rows.length === 1 && first !== undefined) return { outcome, ...candidate(first) }
  const more = rows.length - most
  return { outcome: 'several', matches: rows.slice(0, most).map(candidate), ...(more > 0 ? { more } : {}) }
}

const SHOWN_FIELDS = { id: 'id', label: 'label', detail: 'detail', parent: 'parent' }

/** All things of a stored result, which may be anything. */
function shownIn(output: Json): readonly unknown[] {
  if (!isObject(output)) return []
  const { matches, near, outcome } = output
  const lists = [matches, near].filter((list) => Array.isArray(list)).flat()
  return outcome === 'exact' || outcome === 'partial' ? [output] : lists
}

function selectedBy(entity: Entity, output: Json): readonly Selection[] {
  const { outcome } = (output ?? {}) as JsonObject
  if (outcome !== 'exact') return []
  const { id, label, parent } = output as unknown as Candidate
  return [
    entity.select(id, {
      ...defined({ label, parent }),
    }),
  ]
}
