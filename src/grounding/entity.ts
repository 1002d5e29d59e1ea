/**
 * Entities: kinds of things that have ids, such as projects, tasks, orders. Declared once, with a time to live, the pattern
 * of the ids and the nouns.
 */
import {
  type ChosenBy,
  checkOptions as checkNames,
  defined,
  ENTITY_MARK,
  type GroundSource,
  HoldfastError,
  invalidOption,
  type JsonObject,
  type OptionRules,
  quote,
  type Selection,
  type Sighting,
  shown,
} from '../protocol/index.ts'
import { type RowFields, type Rows, sightingsIn } from './rows.ts'
import { wordsOf } from './text-normalize.ts'

/** `enforce`: an ungrounded id stops the call. `warn`: it is reported and the call runs. `off`: ids are not judged. */
export type GroundingPolicy = 'enforce' | 'warn' | 'off'

export interface EntityOptions {
  /** How long a selection and a sighting count: `'30m'`, `'2d'` or milliseconds. Default: `'7h'`. */
  readonly ttl?: string | number
  /** The entity that it is a part of. A switch of the parent deselects its parts. */
  readonly parent?: Entity
  /** The form of a whole id. Without a pattern, no id counts because a person wrote it. */
  readonly pattern?: RegExp
  /** The owner of a selection: the conversation, which is the default, or the actor in all conversations. */
  readonly scope?: 'actor' | 'conversation'
  readonly policy?: GroundingPolicy
  /** The sources that ground an id. Default: all. */
  readonly sources?: readonly GroundSource[]
  /**
   * Normalizes the spellings of an id: `(id) => id.replace(/^#/, '').toUpperCase()`. Ids are compared in this form, and the
   * tool gets the id as shown. Without it, ids that differ in case are different.
   */
  readonly normalize?: (id: string) => string
  /** The name of a tool that lists or finds these things, for refusals to suggest. A `lookupTool` is found without it. */
  readonly lookup?: string
  /** The names of the parts of a composite id: `['number', 'date']`. See `part`. */
  readonly key?: readonly string[]
  /** The noun by language: `{ fr: 'projet' }`. The English default is the name. */
  readonly called?: Readonly<Record<string, string | Called>>
}

/** The nouns for a thing. The default plural adds an s; `active` begins a line of the state block. */
export interface Called {
  readonly one: string
  readonly many?: string
  readonly active?: string
}

/** The mark of an argument, for `grounded`; `id` is the same for a schema. */
export interface EntityMark {
  /** The value of the mark. */
  readonly name: string
  readonly id: (more?: JsonObject) => JsonObject
}

/** Created by `entity`. */
export interface Entity extends EntityMark {
  readonly name: string
  readonly ttlMs: number
  readonly parent?: Entity
  /** Anchored: matches whole ids only. */
  readonly pattern?: RegExp
  readonly scope: 'actor' | 'conversation'
  readonly policy: GroundingPolicy
  readonly sources: ReadonlySet<GroundSource>
  /** Normalizes the spellings of an id. Never throws. */
  readonly normal?: (id: string) => string
  readonly lookup?: string
  readonly key?: readonly string[]
  readonly called: Readonly<Record<string, Called>>
  /** All singular and plural nouns, in normal form. */
  readonly nouns: { readonly one: ReadonlySet<string>; readonly many: ReadonlySet<string> }
  /** The mark of an id, to be part of a schema: `z.string().meta(project.id())`, `{ type: 'string', ...project.id() }`. */
  readonly id: (more?: JsonObject) => JsonObject
  /** The mark of an argument that is one part of the id; all parts of `key` must be in the same object. */
  readonly part: (name: string) => EntityMark
  /** The mark of a destination id: parts of other things may be beside it, as in `move_task`. */
  readonly destination: EntityMark
  /**
   * The sightings in the rows of a result. A field is a name, a path such as `project.id`, or a function (`RowField`); rows
   * without an id are skipped. `input` is the call's, for fields such as `$input.orderId`.
   */
  readonly rows: <Row>(rows: Rows<Row>, fields: RowFields<Row>, input?: unknown) => readonly Sighting[]
  /** A selection of one thing or several; without an id, a deselection. */
  readonly select: (
    id?: string | number | readonly (string | number)[],
    about?: SelectionDetails,
  ) => Selection
}

export interface SelectionDetails {
  readonly label?: string
  /** Of several, in the order of their ids. */
  readonly labels?: readonly string[]
  readonly parent?: string | number
  /** `'person'` for a tool that carries out a person's choice: then it wins over earlier sightings. */
  readonly by?: ChosenBy
}

/** Throws `invalid-option` for options that could not work. */
export function entity(name: string, options: EntityOptions = {}): Entity {
  checkOptions(name, options)
  const {
    ttl = DEFAULT_TTL,
    parent,
    pattern,
    scope = 'conversation',
    policy = 'enforce',
    sources = SOURCES,
    normalize,
    lookup,
    key,
  } = options
  const called = calledOf(name, options.called ?? {})
  const looks = {
    ...(pattern === undefined ? {} : { pattern: anchored(pattern) }),
    ...(normalize === undefined ? {} : { normal: normalForm(normalize) }),
  }
  const declared: Entity = {
    name,
    ttlMs: durationMs(ttl),
    ...defined({ parent }),
    ...looks,
    ...defined({ lookup, key }),
    scope,
    policy,
    sources: new Set(sources),
    called,
    nouns: nounsOf(called),
    id: marking(name),
    part: noMark((part) => {
      if (!key?.includes(part)) throw invalid(name, `its \`key\` has no ${quote(part)}`)
      return markOf(`${name}${PART}${part}`)
    }),
    destination: markOf(`${name}${DESTINATION}`),
    rows: noMark((rows, fields, input) => sightingsIn({ name, ...looks }, rows, { ...fields, input })),
    select: noMark((id, about = {}) => selectionOf(name, id, about)),
  }
  return Object.freeze(declared)
}

export type Entities = ReadonlyMap<string, Entity>

/** The meaning of a mark: an entity, and whether the value is a part of its id or a destination. */
export interface MarkMeaning {
  readonly entity: string
  readonly part?: string
  readonly isDestination?: true
}

export function readMark(mark: string): MarkMeaning {
  if (mark.endsWith(DESTINATION)) return { entity: mark.slice(0, -DESTINATION.length), isDestination: true }
  const [name = mark, part] = mark.split(PART)
  return part === undefined ? { entity: name } : { entity: name, part }
}

function markOf(mark: string): EntityMark {
  return Object.freeze({ name: mark, id: marking(mark) })
}

/**
 * Also carries the mark itself: schema libraries copy its fields if it is passed uncalled. If the entity is passed, they
 * take this function for the schema's name, and reading that throws the correction.
 */
function marking(mark: string): EntityMark['id'] {
  const id = (more: JsonObject = {}): JsonObject => ({ ...more, [ENTITY_MARK]: mark })
  const notAName = (): never => {
    const { entity: name, part, isDestination } = readMark(mark)
    const suffix = part === undefined ? (isDestination ? '.destination' : '') : `.part(${quote(part)})`
    throw new HoldfastError('invalid-option', {
      message: `The entity ${quote(name)} itself was given to a schema. Give it the mark of its ids: .meta(${name}${suffix}.id()).`,
    })
  }
  const hidden = { value: notAName }
  return Object.defineProperties(Object.assign(id, { [ENTITY_MARK]: mark }), {
    replace: hidden,
    toString: hidden,
  })
}

/** A function that makes no mark; passed as one, `defineTool` refuses it for its empty list of names. */
function noMark<F extends (...args: never[]) => unknown>(make: F): F {
  return Object.assign(make, { [ENTITY_MARK]: [] })
}

/** No entity name contains these. */
const PART = '.'
const DESTINATION = ':destination'

/** By name, parents included. Throws `invalid-option` if two have the same name. */
export function entityMap(entities: readonly Entity[]): Entities {
  const map = new Map<string, Entity>()
  for (const each of entities) {
    if (!isEntity(each))
      throw new HoldfastError('invalid-option', {
        message: `\`entities\` has ${quote(each)}, which is no entity. Make one with entity('order').`,
      })
    for (let one: Entity | undefined = each; one !== undefined; one = one.parent) {
      const known = map.get(one.name)
      if (known !== undefined && known !== one) throw invalid(one.name, 'there is another one of that name')
      map.set(one.name, one)
    }
  }
  return map
}

/** Accepts any value, for programs without types. */
export function isEntity(value: unknown): value is Entity {
  return typeof value === 'object' && value !== null && (value as Partial<Entity>).sources instanceof Set
}

/** The number of entities above one. */
export function depthOf(one: Entity | undefined): number {
  return one?.parent === undefined ? 0 : 1 + depthOf(one.parent)
}

/** The strictest entity, for marks of undeclared ones. */
export function undeclared(name: string): Entity {
  return entity(name)
}

const DEFAULT_TTL = '7h'
const SOURCES: readonly GroundSource[] = ['state', 'seen', 'said', 'label', 'ordinal', 'asked']
const POLICIES: readonly string[] = ['enforce', 'warn', 'off'] satisfies GroundingPolicy[]
/** Words, numbers, signs and sentences: no kind of id matches all of them. */
const ANY_TEXT = ['a', '7', 'please', 'Refund it, thanks!', '12.50 €', 'x-1', '#']
const NAME = /^[a-z][a-z0-9_-]{0,39}$/i

const OPTIONS: OptionRules<EntityOptions> = {
  ttl: null,
  parent: 'an object',
  pattern: null,
  scope: null,
  policy: null,
  sources: 'a list',
  normalize: null,
  lookup: null,
  key: null,
  called: 'an object',
}

function checkOptions(name: string, options: EntityOptions): void {
  checkNames(options, {
    place: `The entity ${quote(name)}`,
    options: OPTIONS,
    foreign: { ttlMs: 'ttl', regex: 'pattern' },
  })
  const { pattern, policy, sources, scope, normalize, lookup, key } = options
  if (typeof name !== 'string' || !NAME.test(name))
    throw invalid(name, 'its name must be a letter, then letters, digits, _ and -, at most 40 in all')
  if (pattern !== undefined && (!(pattern instanceof RegExp) || /[gy]/.test(pattern.flags)))
    throw invalid(name, '`pattern` must be a regular expression without the flags g and y')
  if (pattern !== undefined && ANY_TEXT.every((text) => anchored(pattern).test(text)))
    throw invalid(name, `\`pattern\` fits any text, so any word would be an id; say what ids look like`)
  if (options.parent !== undefined && !isEntity(options.parent))
    throw invalid(name, '`parent` must be an entity; make it with entity()')
  if (sources?.length === 0)
    throw invalid(name, '`sources` is empty, so no id could ever be used; leave it out for all of them')
  if (policy !== undefined && !POLICIES.includes(policy))
    throw invalid(name, `\`policy\` must be one of ${POLICIES.join(', ')}`)
  if (scope !== undefined && scope !== 'actor' && scope !== 'conversation')
    throw invalid(name, "`scope` must be 'actor' or 'conversation'")
  if (normalize !== undefined && typeof normalize !== 'function')
    throw invalid(name, '`normalize` must be a function from an id to a text')
  if (lookup !== undefined && (typeof lookup !== 'string' || lookup === ''))
    throw invalid(name, '`lookup` must be the name of a tool')
  if (key !== undefined && !(Array.isArray(key) && key.length > 1 && key.every(isKeyPart)))
    throw invalid(name, '`key` must be a list of two or more names, of letters, digits, _ and -')
  const strange = Object.entries(options.called ?? {}).find(([, called]) => !isNoun(called))
  if (strange !== undefined)
    throw invalid(name, `\`called.${strange[0]}\` must be a noun, or { one, many, active }`)
  const unknownSource = sources?.find((source) => !SOURCES.includes(source))
  if (unknownSource !== undefined)
    throw invalid(name, `${quote(unknownSource)} is no source; there are ${SOURCES.join(', ')}`)
}

const DETAILS: OptionRules<SelectionDetails> = {
  label: null,
  labels: 'a list',
  parent: null,
  by: ['person', 'program', 'tool'],
}

function isNoun(called: unknown): boolean {
  const { one } = (called ?? {}) as Partial<Called>
  return [called, one].some((noun) => typeof noun === 'string' && noun !== '')
}

function isKeyPart(part: unknown): boolean {
  return typeof part === 'string' && NAME.test(part)
}

/** An id without a normal form is compared as it is. */
function normalForm(normalize: (id: string) => unknown): (id: string) => string {
  return (id) => {
    try {
      const form = normalize(id)
      return typeof form === 'string' ? form : id
    } catch {
      return id
    }
  }
}

/** Without the flag m, by which one line of a text would do. */
function anchored({ source, flags }: RegExp): RegExp {
  return new RegExp(`^(?:${source})$`, flags.replace('m', ''))
}

function calledOf(name: string, nouns: NonNullable<EntityOptions['called']>): Record<string, Called> {
  const all = { en: name.replace(/[_-]+/g, ' '), ...nouns }
  return Object.fromEntries(
    Object.entries(all).map(([language, called]) => [
      language,
      typeof called === 'string' ? { one: called } : called,
    ]),
  )
}

function nounsOf(called: Readonly<Record<string, Called>>): Entity['nouns'] {
  const all = Object.values(called)
  const word = (text: string): string => wordsOf(text).at(-1) ?? ''
  return {
    one: new Set(all.map(({ one }) => word(one))),
    many: new Set(all.flatMap(({ one, many }) => (many === undefined ? plurals(word(one)) : [word(many)]))),
  }
}

function plurals(word: string): readonly string[] {
  return word.endsWith('y') ? [`${word}s`, `${word.slice(0, -1)}ies`] : [`${word}s`, `${word}x`, `${word}es`]
}

function selectionOf(name: string, id: Parameters<Entity['select']>[0], about: SelectionDetails): Selection {
  const place = `select() of the entity ${quote(name)}`
  checkNames(about, { place, options: DETAILS })
  const { label, labels, parent, by } = about
  if (id === undefined) return { entity: name }
  const given = Array.isArray(id) ? (id as readonly (string | number)[]) : [id as string | number]
  for (const each of given as readonly unknown[])
    if (typeof each !== 'string' && typeof each !== 'number')
      throw invalidOption(place, `takes ids, each a text or a number, not ${shown(each)}`)
  const ids = given.map(String)
  const [first] = ids
  return {
    entity: name,
    ...defined({ id: first }),
    ...(ids.length > 1 ? { ids } : {}),
    ...defined({ label, labels }),
    ...(parent === undefined ? {} : { parent: String(parent) }),
    ...defined({ by }),
  }
}

function invalid(name: unknown, why: string): HoldfastError {
  return new HoldfastError('invalid-option', { message: `Entity ${quote(name)} cannot be used: ${why}.` })
}

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/**
 * Milliseconds of `'7h'`, `'30m'`, `'2d'`, `'1h 30m'`, or of a number of milliseconds. Infinity is forever. Throws
 * `invalid-option` for anything else, and for zero.
 */
export function durationMs(span: string | number): number {
  const ms = typeof span === 'number' ? span : parsed(span)
  if (!(ms > 0)) {
    throw new HoldfastError('invalid-option', {
      message: `${typeof span === 'number' ? String(span) : quote(span)} is no span of time. Write '7h', '30m', '2d', or milliseconds above 0.`,
    })
  }
  return ms
}

function parsed(text: string): number {
  if (typeof text !== 'string') return Number.NaN
  if (!/^\s*(?:\d+(?:\.\d+)?\s*(?:ms|[smhdw])\s*)+$/.test(text)) return Number.NaN
  const parts = text.matchAll(/(\d+(?:\.\d+)?)\s*(ms|[smhdw])/g)
  return [...parts].reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS[unit ?? ''] ?? 0), 0)
}
