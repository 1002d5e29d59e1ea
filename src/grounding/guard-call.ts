/**
 * The guard of one call, from the model's arguments to the tool's input. The written form is judged first, because only
 * there labels and positions occur; then the schema converts it, and every id of the converted form must be good again.
 * Runs and stores nothing.
 */
import { foldedText, type Ground, HoldfastError, type Json, type JsonObject } from '../protocol/index.ts'
import type { Entities, Entity } from './entity.ts'
import type { JudgeContext } from './facts.ts'
import type { Above } from './judge.ts'
import { composeKeys, type Judgement, judgeCall } from './judge.ts'
import { type FoundId, idsIn, type Path, placeText, surveyOf, withIds } from './marks.ts'
import { type Refusal, refusalOf, refusalOutput } from './refusal.ts'
import { textOf } from './rows.ts'

type JudgedIds = Parameters<typeof judgeCall>[0]

export interface GuardedCall<P extends Converted> {
  readonly parameters: JsonObject
  readonly args: Json
  /** Unmarked values are not judged, and undeclared fields are kept. */
  readonly allowsUnmarked: boolean
  /** Validates and converts arguments by the schema. */
  readonly convert: (args: Json) => Promise<P>
}

/** Arguments after validation; `input` is the tool's input, if they fit. */
export type Converted = { readonly ok: true; readonly input: unknown } | { readonly ok: false }

export interface Guarded<P extends Converted> {
  readonly judgement: Judgement
  /** The judgement's arguments after the schema's conversion. */
  readonly converted: P
  /** Paths of fields that the tool does not get. */
  readonly dropped: readonly string[]
}

export async function guardCall<P extends Converted>(
  call: GuardedCall<P>,
  judging: JudgeContext,
  above?: Above,
): Promise<Guarded<P>> {
  const judge = (ids: JudgedIds): Promise<Judgement> => judgeCall(ids, judging, above)
  const { parameters } = call
  const survey = surveyOf(parameters, call.args)
  const first = await judge({ parameters, args: call.args, found: survey.ids })
  const isPlaced = first.grounds.some(({ said }) => said !== undefined)
  const written = isPlaced ? await withoutNeedlessIds(call, first, { ...judging, judge }) : first
  const { converted, args, dropped } = await convertedArgs(call, written.args, survey.undeclared())
  const placed: Judgement = args === written.args ? written : { ...written, args }
  if (!converted.ok) return { judgement: placed, converted, dropped }
  const input = isSameJson(args, converted.input) ? args : jsonCopy(converted.input)
  const { entities } = judging
  const made = input === call.args ? survey : surveyOf(parameters, input)
  const found = [
    ...changedIds(made.ids, { input, written: placed, entities }),
    ...(call.allowsUnmarked ? [] : made.unmarked(entities)),
  ]
  if (found.length === 0) return { judgement: placed, converted, dropped }
  const changed = await judge({ parameters, args: input, found })
  return { judgement: merged(placed, changed, found), converted, dropped }
}

/**
 * A schema may itself convert the written value to an id, such as `2` to `ord_2`: then no id is filled in. If it differs
 * from the id that the label or position means, the call is ambiguous.
 */
async function withoutNeedlessIds<P extends Converted>(
  { parameters, args, convert }: GuardedCall<P>,
  written: Judgement,
  { entities, judge }: Pick<JudgeContext, 'entities'> & { judge: (call: JudgedIds) => Promise<Judgement> },
): Promise<Judgement> {
  const placed = new Map(written.grounds.flatMap((one) => (one.said === undefined ? [] : [[one.path, one]])))
  const converted = await convert(args)
  if (!converted.ok) return written
  const found = idsIn(parameters, jsonCopy(converted.input))
    .filter((one) => placed.has(placeText(one.path)) && !isWritten(one, args))
    .map((one): FoundId => ({ ...one, isLiteral: true }))
  const made = await judge({ parameters, args, found })
  const refusals = made.grounds.flatMap((ground) => unclear(ground, placed.get(ground.path), entities))
  const isMade = ({ path }: FoundId): boolean =>
    made.grounds.some((ground) => ground.path === placeText(path))
  const judged = {
    ...written,
    args: withIds(
      written.args,
      found.filter(isMade).map((one) => ({ found: one, to: valueAt(args, one.path) as string | number })),
    ),
  }
  if (refusals.length === 0) return judged
  const all = [...(written.kind === 'refused' ? written.refusals : []), ...refusals]
  return { ...judged, kind: 'refused', refusals: all, output: refusalOutput(all) }
}

function unclear(made: Ground, placed: Ground | undefined, entities: Entities): readonly Refusal[] {
  const entity = entities.get(made.entity)
  if (placed?.said === undefined || entity === undefined || isSameId(entity, placed.id, made.id)) return []
  const named = [placed, made].map(({ id }) => ({ id }))
  const verdict = { kind: 'refused', entity: entity.name, reason: 'several', named, isUnclear: true } as const
  return [refusalOf({ verdict, entity, path: made.path, given: placed.said, near: { near: [] } })]
}

/** True if a schema still converts a call to the judged ids: it may depend on time, or on anything. */
export function isStillGrounded(
  { parameters, input, allowsUnmarked }: { parameters: JsonObject; input: unknown; allowsUnmarked: boolean },
  grounds: readonly Ground[],
  entities: Entities,
): boolean {
  const value = jsonCopy(input)
  const isEnforced = ({ entities: names }: FoundId): boolean =>
    names.every((name) => (entities.get(name)?.policy ?? 'enforce') === 'enforce')
  const survey = surveyOf(parameters, value)
  const found = [
    ...composeKeys(survey.ids, entities).flatMap((one) => ungrounded(one, grounds, entities)),
    ...(allowsUnmarked ? [] : survey.unmarked(entities)),
  ]
  return found
    .filter(isEnforced)
    .every(({ given }) => grounds.some(({ id, entity }) => isSameId(entities.get(entity), id, given)))
}

/** True if a conversion returned equal JSON: then it has been judged already. */
function isSameJson(args: Json, made: unknown): boolean {
  if (args === made) return true
  if (typeof args !== 'object' || args === null || typeof made !== 'object' || made === null) return false
  const isPlain = Object.getPrototypeOf(made) === Object.getPrototypeOf(args)
  const names = Object.keys(made)
  if (!isPlain || names.length !== Object.keys(args).length) return false
  return names.every(
    (name) =>
      Object.hasOwn(args, name) && isSameJson((args as JsonObject)[name] as Json, readOnce(made, name)),
  )
}

/** A field as the tool will read it: a getter may return another value next time, so its value is fixed. */
function readOnce(owner: object, name: string): unknown {
  const field = Object.getOwnPropertyDescriptor(owner, name)
  if (field?.get === undefined) return field?.value
  const value: unknown = field.get.call(owner)
  Object.defineProperty(owner, name, { value, enumerable: true, writable: true, configurable: true })
  return value
}

/** Drops undeclared fields that would reach the tool; many schemas do so by themselves. */
async function convertedArgs<P extends Converted>(
  { allowsUnmarked, convert }: GuardedCall<P>,
  args: Json,
  undeclared: readonly Path[],
): Promise<{ readonly converted: P; readonly args: Json; readonly dropped: readonly string[] }> {
  const converted = await convert(args)
  if (allowsUnmarked || !converted.ok || undeclared.length === 0) return { converted, args, dropped: [] }
  const input = jsonCopy(converted.input)
  const reaching = undeclared.filter((path) => valueAt(input, path) !== undefined)
  if (reaching.length === 0) return { converted, args, dropped: [] }
  const rest = reaching.reduce(withoutPath, args)
  return { converted: await convert(rest), args: rest, dropped: reaching.map(placeText) }
}

/** Ids at marked paths that the conversion changed or created, other than by spelling. */
function changedIds(
  found: readonly FoundId[],
  { input, written, entities }: { input: Json; written: Judgement; entities: Entities },
): readonly FoundId[] {
  if (input === written.args) return []
  const asked = written.kind === 'ask' ? written.asks : []
  const isChanged = (one: FoundId): boolean =>
    partsWith(one, found).some((part) => !isWritten(part, written.args))
  return found
    .filter(isChanged)
    .filter(({ path }) => !asked.some((ask) => isBelow(ask.path, placeText(path))))
    .flatMap((one) => ungrounded(one, written.grounds, entities))
    .map((one) => ({ ...one, isLiteral: true }))
}

/** All parts of one composite id; the id itself if it is not composite. */
function partsWith(one: FoundId, found: readonly FoundId[]): readonly FoundId[] {
  if (one.part === undefined) return [one]
  const home = placeText(one.path.slice(0, -1))
  return found.filter(
    ({ part, entities, path }) =>
      part !== undefined && entities[0] === one.entities[0] && placeText(path.slice(0, -1)) === home,
  )
}

function isWritten({ given, path, isKey }: FoundId, args: Json): boolean {
  const there = valueAt(args, path)
  return isKey ? there !== undefined : isSameText(given, there)
}

/**
 * The texts and numbers at a marked path. A conversion may turn an id into an object: one part that is the id vouches for
 * all, the others are judged by their pattern.
 */
function ungrounded(found: FoundId, grounds: readonly Ground[], entities: Entities): readonly FoundId[] {
  const { given, path } = found
  const home = placeText(path)
  const here = grounds.filter((ground) => isBelow(home, ground.path))
  const isGood = (value: Json): boolean =>
    here.some(({ entity, id }) => isSameId(entities.get(entity), id, value))
  const parts = typeof given === 'object' && given !== null ? partsOf(given, path) : [{ given, path }]
  return parts.some((part) => isGood(part.given)) ? [] : parts.map((part) => ({ ...found, ...part }))
}

function partsOf(value: Json, path: Path): readonly { readonly given: Json; readonly path: Path }[] {
  if (typeof value !== 'object' || value === null) return value === null ? [] : [{ given: value, path }]
  return Object.entries(value).flatMap(([name, inner]) =>
    inner === undefined ? [] : partsOf(inner, [...path, Array.isArray(value) ? Number(name) : name]),
  )
}

/**
 * Merges both judgements. Where the written form was refused and the converted one is good, the converted one counts: the
 * tool gets that one.
 */
function merged(written: Judgement, changed: Judgement, found: readonly FoundId[]): Judgement {
  const bad = new Set([
    ...(changed.kind === 'refused' ? changed.refusals : []).map(({ path }) => path),
    ...(changed.kind === 'ask' ? changed.asks : []).map(({ path }) => path),
  ])
  const byPlace = new Map(found.map(({ path }) => [placeText(path), path]))
  const places = [...byPlace.keys()]
  const isRepaired = ({ path, reason }: Refusal): boolean => {
    if (reason === 'several') return false
    const below = places.filter((place) => isBelow(path, place))
    return below.length > 0 && below.every((place) => !bad.has(place))
  }
  const first = written.kind === 'refused' ? written.refusals.filter((one) => !isRepaired(one)) : []
  const isNew = ({ path }: { readonly path: string }): boolean =>
    !first.some((one) => isBelow(one.path, path))
  const refusals = [...first, ...(changed.kind === 'refused' ? changed.refusals.filter(isNew) : [])]
  const asks = [
    ...(written.kind === 'ask' ? written.asks : []),
    ...(changed.kind === 'ask' ? changed.asks : []),
  ]
  const judged = {
    args: written.args,
    grounds: [
      ...written.grounds.filter(({ path }) => !byPlace.has(path)),
      ...changed.grounds.map((ground) => saidAt(ground, byPlace.get(ground.path) ?? [], written.args)),
    ],
    warnings: [...written.warnings.filter((one) => !isRepaired(one)), ...changed.warnings],
  }
  if (refusals.length > 0) return { kind: 'refused', refusals, output: refusalOutput(refusals), ...judged }
  return asks.length > 0 ? { kind: 'ask', asks, ...judged } : { kind: 'ok', ...judged }
}

/** Adds the model's value where the conversion changed it. */
function saidAt(ground: Ground, path: Path, args: Json): Ground {
  const written = path.map((_, at) => valueAt(args, path.slice(0, at + 1)))
  const said = written.findLast((value) => value !== undefined)
  return textOf(said) === undefined || isSameText(said, ground.id)
    ? ground
    : { ...ground, said: said as Json }
}

function isBelow(place: string, other: string): boolean {
  return other === place || (other.startsWith(place) && /^[.[]/.test(other.slice(place.length)))
}

function isSameText(a: unknown, b: unknown): boolean {
  const text = textOf(a)
  return text !== undefined && text === textOf(b)
}

/**
 * Equal text or normal form. Equal letters and digits count only in a form that cannot be another id of the entity: one that
 * does not fit its pattern. Without a pattern any form can be one.
 */
function isSameId(entity: Pick<Entity, 'normal' | 'pattern'> | undefined, id: string, given: Json): boolean {
  const text = textOf(given)?.trim()
  if (text === undefined) return false
  if (text === id || (entity?.normal !== undefined && entity.normal(text) === entity.normal(id))) return true
  if (entity?.pattern === undefined || entity.pattern.test(text)) return false
  const letters = (form: string): string => foldedText(form).replace(/[^\p{L}\p{N}]/gu, '')
  return letters(text) !== '' && letters(text) === letters(id)
}

function valueAt(value: Json | undefined, path: Path): Json | undefined {
  return path.reduce<Json | undefined>((here, step) => {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, step)) return undefined
    return (here as Record<string | number, Json>)[step]
  }, value)
}

function withoutPath(value: Json, path: Path): Json {
  const [step, ...rest] = path
  if (typeof value !== 'object' || value === null || step === undefined) return value
  if (Array.isArray(value))
    return (value as readonly Json[]).map((item, at) => (at === step ? withoutPath(item, rest) : item))
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) =>
      name !== step ? [[name, inner]] : rest.length === 0 ? [] : [[name, withoutPath(inner as Json, rest)]],
    ),
  )
}

/** A JSON copy of converted arguments, which may hold dates, maps or cycles. Throws `too-large` for an endless value. */
function jsonCopy(value: unknown): Json {
  let left = MOST_VALUES
  const copy = (given: unknown, above: readonly object[]): Json => {
    left -= 1
    if (left < 0 || above.length > DEEPEST_VALUE) throw tooLarge()
    if (typeof given === 'bigint') return String(given)
    if (typeof given === 'function' || typeof given === 'symbol' || given === undefined) return null
    if (typeof given !== 'object' || given === null) return given as Json
    if (above.includes(given)) return null
    const inside = [...above, given]
    if (given instanceof Date || given instanceof URL) return JSON.parse(JSON.stringify(given)) as Json
    if (Array.isArray(given) || given instanceof Set) return [...given].map((item) => copy(item, inside))
    const entries =
      given instanceof Map
        ? [...given]
        : Object.keys(given).map((name): [string, unknown] => [name, readOnce(given, name)])
    return Object.fromEntries(
      entries.flatMap(([name, inner]) => (inner === undefined ? [] : [[String(name), copy(inner, inside)]])),
    )
  }
  return copy(value, [])
}

const MOST_VALUES = 100_000
const DEEPEST_VALUE = 200

function tooLarge(): HoldfastError {
  return new HoldfastError('too-large', {
    message: `The arguments that the schema makes have more than ${MOST_VALUES} values or ${DEEPEST_VALUE} levels.`,
  })
}
