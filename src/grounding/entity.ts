/**
 * Kinds of things that have ids: projects, tasks, orders. An entity is declared once and says how long a sighting of it
 * counts, what its ids look like and what people call it. Which ones there are is for the host to know.
 */
import {
  ENTITY_MARK,
  type GroundSource,
  HoldfastError,
  type JsonObject,
  quote,
  type Selection,
  type Sighting,
} from '../protocol/index.ts'
import { durationMs } from './duration.ts'
import { wordsOf } from './normal.ts'
import { type RowFields, sightingsIn } from './rows.ts'

/** `enforce`: an id that is not grounded stops the call. `warn`: it is told and the call goes on. `off`: no look is taken. */
export type GroundingPolicy = 'enforce' | 'warn' | 'off'

export interface EntityOptions {
  /** How long a selection and a sighting count: `'7h'` unless said otherwise, `'30m'`, `'2d'`, or milliseconds. */
  readonly ttl?: string | number
  /** What it is a part of. To switch the parent is to let go of its parts. */
  readonly parent?: Entity
  /** What an id looks like, as a whole. Without it, no id counts because a person wrote it. */
  readonly pattern?: RegExp
  /** Whose selection it is: the conversation's, or the actor's in all conversations. `conversation` unless said otherwise. */
  readonly scope?: 'actor' | 'conversation'
  readonly policy?: GroundingPolicy
  /** What counts as a source of an id; everything unless said otherwise. */
  readonly sources?: readonly GroundSource[]
  /** What people call one of them, by language: `{ fr: 'projet' }`. English is the name unless said otherwise. */
  readonly called?: Readonly<Record<string, string | Called>>
}

/** What people call a thing. Plurals with s need not be said; `active` is how a line of the state block begins. */
export interface Called {
  readonly one: string
  readonly many?: string
  readonly active?: string
}

/** Made by `entity`. */
export interface Entity {
  readonly name: string
  readonly ttlMs: number
  readonly parent?: Entity
  /** Anchored: it matches whole ids only. */
  readonly pattern?: RegExp
  readonly scope: 'actor' | 'conversation'
  readonly policy: GroundingPolicy
  readonly sources: ReadonlySet<GroundSource>
  readonly called: Readonly<Record<string, Called>>
  /** All words for one of them, and for several, in normal form. */
  readonly nouns: { readonly one: ReadonlySet<string>; readonly many: ReadonlySet<string> }
  /** The mark of an id, to be part of a schema: `z.string().meta(project.id())`, `{ type: 'string', ...project.id() }`. */
  readonly id: (more?: JsonObject) => JsonObject
  /** What rows of a result show. A field is a name, a path such as `project.id`, or a function; rows without an id show nothing. */
  readonly rows: <Row>(rows: Iterable<Row>, fields: RowFields<Row>) => readonly Sighting[]
  /** One thing, or several, as the chosen one; nothing to let go of it. */
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
}

/** Throws `invalid-option` for what could not work. */
export function entity(name: string, options: EntityOptions = {}): Entity {
  checkOptions(name, options)
  const {
    ttl = DEFAULT_TTL,
    parent,
    pattern,
    scope = 'conversation',
    policy = 'enforce',
    sources = SOURCES,
  } = options
  const called = calledOf(name, options.called ?? {})
  const made: Entity = {
    name,
    ttlMs: durationMs(ttl),
    ...(parent === undefined ? {} : { parent }),
    ...(pattern === undefined ? {} : { pattern: anchored(pattern) }),
    scope,
    policy,
    sources: new Set(sources),
    called,
    nouns: nounsOf(called),
    id: (more = {}) => ({ ...more, [ENTITY_MARK]: name }),
    rows: (rows, fields) => sightingsIn(name, rows, fields),
    select: (id, about = {}) => selectionOf(name, id, about),
  }
  return Object.freeze(made)
}

export type Entities = ReadonlyMap<string, Entity>

/** By name, parents included. Throws `invalid-option` if two have the same name. */
export function entityMap(entities: readonly Entity[]): Entities {
  const map = new Map<string, Entity>()
  for (const each of entities) {
    for (let one: Entity | undefined = each; one !== undefined; one = one.parent) {
      const known = map.get(one.name)
      if (known !== undefined && known !== one) throw invalid(one.name, 'there is another one of that name')
      map.set(one.name, one)
    }
  }
  return map
}

/** For marks of entities that nobody declared: the strictest. */
export function undeclared(name: string): Entity {
  return entity(name)
}

const DEFAULT_TTL = '7h'
const SOURCES: readonly GroundSource[] = ['state', 'seen', 'said', 'label', 'ordinal', 'asked']
const POLICIES: readonly string[] = ['enforce', 'warn', 'off'] satisfies GroundingPolicy[]
const NAME = /^[a-z][a-z0-9_-]{0,39}$/i

function checkOptions(name: string, { pattern, policy, sources, scope }: EntityOptions): void {
  if (typeof name !== 'string' || !NAME.test(name))
    throw invalid(name, 'its name must be a letter, then letters, digits, _ and -, at most 40 in all')
  if (pattern !== undefined && (!(pattern instanceof RegExp) || /[gy]/.test(pattern.flags)))
    throw invalid(name, '`pattern` must be a regular expression without the flags g and y')
  if (policy !== undefined && !POLICIES.includes(policy))
    throw invalid(name, `\`policy\` must be one of ${POLICIES.join(', ')}`)
  if (scope !== undefined && scope !== 'actor' && scope !== 'conversation')
    throw invalid(name, "`scope` must be 'actor' or 'conversation'")
  const strange = sources?.find((source) => !SOURCES.includes(source))
  if (strange !== undefined)
    throw invalid(name, `${quote(strange)} is no source; there are ${SOURCES.join(', ')}`)
}

function anchored(pattern: RegExp): RegExp {
  return new RegExp(`^(?:${pattern.source})$`, pattern.flags)
}

function calledOf(name: string, given: NonNullable<EntityOptions['called']>): Record<string, Called> {
  const all = { en: name.replace(/[_-]+/g, ' '), ...given }
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

function selectionOf(
  name: string,
  id: Parameters<Entity['select']>[0],
  { label, labels, parent }: SelectionDetails,
): Selection {
  if (id === undefined) return { entity: name }
  const ids = (Array.isArray(id) ? (id as readonly (string | number)[]) : [id as string | number]).map(String)
  const [first] = ids
  return {
    entity: name,
    ...(first === undefined ? {} : { id: first }),
    ...(ids.length > 1 ? { ids } : {}),
    ...(label === undefined ? {} : { label }),
    ...(labels === undefined ? {} : { labels }),
    ...(parent === undefined ? {} : { parent: String(parent) }),
  }
}

function invalid(name: unknown, why: string): HoldfastError {
  return new HoldfastError('invalid-option', { message: `Entity ${quote(name)} cannot be used: ${why}.` })
}
