/**
 * Decides whether a call may reach its tool: every id among its arguments must be grounded, in this conversation or in the
 * one above. A label or a list position is replaced by its id. Runs nothing.
 */
import { defined, type Ground, type Json, type JsonObject } from '../protocol/index.ts'
import { depthOf, type Entities, type Entity, type GroundingPolicy, undeclared } from './entity.ts'
import type { JudgeContext } from './facts.ts'
import { type AskedId, answered, judgeId, type Passed, type Refused, type Verdict } from './judge-id.ts'
import { type FoundId, idsIn, placesOf, placeText, withIds, writtenAt } from './marks.ts'
import { ParentIds } from './parent-ids.ts'
import { type Refusal, refusalOf, refusalOutput } from './refusal.ts'
import { joinedKey, keyValues, textOf } from './rows.ts'
import { type NearMatches, nearMatches, nearOfParent } from './suggestions.ts'

/**
 * `ok`: run it with these arguments. `ask`: the person must choose between things; judge again with the answers. `refused`:
 * do not run it, `output` is its result. Warnings are refusals of entities with the policy `warn`.
 */
export type Judgement = Judged &
  (
    | { readonly kind: 'ok' }
    | { readonly kind: 'ask'; readonly asks: readonly AskedId[] }
    | { readonly kind: 'refused'; readonly refusals: readonly Refusal[]; readonly output: JsonObject }
  )

/** The ids that passed, and the arguments with them filled in. */
interface Judged {
  readonly args: Json
  readonly grounds: readonly Ground[]
  readonly warnings: readonly Refusal[]
}

/**
 * Judges the ids of a call as written; `found` overrides those that the schema marks. A refusal comes before a question: a
 * person is not asked about a call that cannot be made. Parents are judged before their parts, which must belong to them.
 */
export async function judgeCall(
  call: { readonly parameters: JsonObject; readonly args: Json; readonly found?: readonly FoundId[] },
  judging: JudgeContext,
  above?: Above,
): Promise<Judgement> {
  const places = composeKeys(call.found ?? idsIn(call.parameters, call.args), judging.entities)
  const depth = ({ entities }: FoundId): number => depthOf(judging.entities.get(entities[0] ?? ''))
  const judged = new Map<PlacedId, JudgedId>()
  const parents = new ParentIds()
  const byDepth = places.length < 2 ? places : places.toSorted((a, b) => depth(a) - depth(b))
  for (const found of byDepth) {
    const entities = found.entities.map((name) => judging.entities.get(name) ?? undeclared(name))
    const isOff = entities.some(({ policy }) => policy === 'off')
    const beside = (entity: string): readonly string[] => parents.beside(found.path, entity)
    const inCall = places.length < 2 ? judging : { ...judging, beside }
    const verdict = isOff ? undefined : await judgeAny(found, inCall, above)
    judged.set(found, { found, entities, verdict })
    // A refused parent is reported once, at its own path.
    const given = verdict?.kind === 'ask' ? undefined : textOf(found.given)
    const id = verdict?.kind === 'ok' ? verdict.id : given
    if (id !== undefined && places.length > 1) parents.add(found, id)
  }
  const inOrder = places.flatMap((place) => judged.get(place) ?? [])
  return judgementOf({ ...call, judged: inOrder }, judging, above)
}

/** An id with its verdict; none for the policy `off`. */
interface JudgedId {
  readonly found: PlacedId
  readonly entities: readonly Entity[]
  readonly verdict: Verdict | undefined
}

async function judgementOf(
  call: { readonly parameters: JsonObject; readonly args: Json; readonly judged: readonly JudgedId[] },
  judging: JudgeContext,
  above: Above | undefined,
): Promise<Judgement> {
  const { parameters, args, judged } = call
  const passed: { readonly found: PlacedId; readonly verdict: Passed }[] = []
  const asks: AskedId[] = []
  const refusals: Refusal[] = []
  const warnings: Refusal[] = []
  for (const { found, entities, verdict } of judged) {
    const { path, given } = found
    if (verdict === undefined) continue
    if (verdict.kind === 'ok') passed.push({ found, verdict })
    else if (verdict.kind === 'ask') asks.push({ ...verdict, path: placeText(path), given })
    else {
      const entity = entities.find(({ name }) => name === verdict.entity) ?? undeclared(verdict.entity)
      const list = entities.some(({ policy }) => policy === 'warn') ? warnings : refusals
      const hasNear = list.length < MOST_WITH_NEAR
      list.push(await refuse(found, { verdict, entity, parameters, above, hasNear }, judging))
    }
  }
  const outcome = { ...groundedArgs(args, passed), warnings }
  if (refusals.length > 0) return { kind: 'refused', refusals, output: refusalOutput(refusals), ...outcome }
  return asks.length > 0 ? { kind: 'ask', asks, ...outcome } : { kind: 'ok', ...outcome }
}

/** An id at its path; an id made of several arguments has them as `parts`, in the order of its key. */
interface PlacedId extends FoundId {
  readonly parts?: readonly FoundId[]
}

/** Joins the parts of one id, which are in one object, into one id. */
export function composeKeys(found: readonly FoundId[], entities: Entities): readonly PlacedId[] {
  if (found.every(({ part }) => part === undefined)) return found
  const places: PlacedId[] = []
  const homeOf = ({ entities: [name], path }: FoundId): string => JSON.stringify([name, ...path.slice(0, -1)])
  const homes = Map.groupBy(found, homeOf)
  const done = new Set<string>()
  for (const one of found) {
    const [name = ''] = one.entities
    const key = one.part === undefined ? undefined : entities.get(name)?.key
    if (key === undefined) {
      places.push(one)
      continue
    }
    const home = homeOf(one)
    if (done.has(home)) continue
    done.add(home)
    const parts = key.flatMap((part) => homes.get(home)?.find((other) => other.part === part) ?? [])
    // A label or a position could not be split again.
    places.push({
      ...one,
      parts,
      isKey: true,
      given: joinedKey(parts.map((part) => textOf(part.given) ?? '')),
    })
  }
  return places
}

/** An id that may belong to several entities must be good for one of them. */
function judgeAny(found: FoundId, judging: JudgeContext, above: Above | undefined): Promise<Verdict> {
  const [only = '', ...others] = found.entities
  return others.length === 0 ? judgeBelow(found, only, { judging, above }) : judgeEach(found, judging, above)
}

async function judgeEach(found: FoundId, judging: JudgeContext, above: Above | undefined): Promise<Verdict> {
  const verdicts: Verdict[] = []
  for (const name of found.entities) {
    const verdict = await judgeBelow(found, name, { judging, above })
    if (verdict.kind === 'ok' && isExact(found, verdict)) return verdict
    verdicts.push(verdict)
  }
  const [first] = verdicts
  return (
    verdicts.find(({ kind }) => kind === 'ok') ??
    verdicts.find(({ kind }) => kind === 'ask') ??
    verdicts.find((verdict) => verdict.kind === 'refused' && verdict.reason !== 'unknown') ??
    first ?? { kind: 'refused', entity: '', reason: 'unknown' }
  )
}

function isExact({ given }: FoundId, { id }: Passed): boolean {
  return textOf(given) === id
}

/** True if the argument stays as it is: a number in a text field does not. */
function isUnchanged(found: PlacedId, { id }: Passed): boolean {
  return found.parts === undefined ? found.given === writtenAt(found, id) : found.given === id
}

/** Suggestions for a refused id, from this conversation or else from the one above. */
async function suggestionsFor(
  given: string,
  {
    verdict: { reason, parent },
    entity,
    above,
  }: { readonly verdict: Refused; readonly entity: Entity; readonly above: Above | undefined },
  judging: JudgeContext,
): Promise<NearMatches> {
  if (reason !== 'unknown' && reason !== 'wrong-kind')
    return parent === undefined ? { near: [] } : nearOfParent(given, { entity, parent }, judging)
  const own = await nearMatches(given, entity, judging)
  return own.near.length > 0 || above === undefined ? own : above.near(given, entity)
}

/** A comparison with all known things takes milliseconds, and a model may make up thousands of ids in one call. */
const MOST_WITH_NEAR = 50
const NO_SUGGESTIONS: NearMatches = { near: [] }

async function refuse(
  { path, given }: FoundId,
  {
    verdict,
    entity,
    parameters,
    above,
    hasNear,
  }: {
    readonly verdict: Refused
    readonly entity: Entity
    readonly parameters: JsonObject
    readonly above: Above | undefined
    readonly hasNear: boolean
  },
  judging: JudgeContext,
): Promise<Refusal> {
  const lookup = judging.lookups?.()[entity.name]
  const { kindOf } = verdict
  const near = hasNear
    ? await suggestionsFor(textOf(given) ?? '', { verdict, entity, above }, judging)
    : NO_SUGGESTIONS
  const argument = kindOf === undefined ? undefined : placesOf(parameters, kindOf)[0]
  return refusalOf({
    verdict,
    entity,
    path: placeText(path),
    given,
    near,
    ...defined({ argument, lookup }),
  })
}

function groundedArgs(
  args: Json,
  passed: readonly { readonly found: PlacedId; readonly verdict: Passed }[],
): { readonly args: Json; readonly grounds: readonly Ground[] } {
  const changes = passed.flatMap(({ found, verdict }) =>
    isUnchanged(found, verdict) ? [] : changesAt(found, verdict),
  )
  return {
    args: changes.length === 0 ? args : withIds(args, changes),
    grounds: passed.map(({ found, verdict }) => ({
      path: placeText(found.path),
      entity: verdict.entity,
      id: verdict.id,
      source: verdict.source,
      ...(isUnchanged(found, verdict) ? {} : { said: found.given }),
      ...defined({ seq: verdict.seq, above: verdict.above }),
    })),
  }
}

function changesAt(found: PlacedId, { id }: Passed): Parameters<typeof withIds>[1] {
  if (found.parts === undefined) return [{ found, to: writtenAt(found, id) }]
  const values = keyValues(id)
  return found.parts.map((part, at) => ({ found: part, to: writtenAt(part, values[at] ?? '') }))
}

/** The conversation above, which judges one value of one entity. Its `ok` names where the id is known. */
export interface Above {
  readonly judge: (found: FoundId, entity: Entity, beside?: JudgeContext['beside']) => Promise<Verdict>
  /** The strictest declaration of an entity there or further above; undefined if there is none. */
  readonly declared: (entity: string) => Promise<Entity | undefined>
  /** Known things there that are similar to the value. */
  readonly near: (given: string, entity: Entity) => Promise<NearMatches>
}

/** The effective entities of a conversation: a stricter declaration above wins. */
export async function strictest(
  entities: Entities,
  above: Pick<Above, 'declared'> | undefined,
): Promise<Entities> {
  if (above === undefined) return entities
  const all = [...entities.values()].map(async (own) => stricter(own, await above.declared(own.name)))
  return new Map((await Promise.all(all)).map((entity) => [entity.name, entity]))
}

export function stricter(own: Entity, other: Entity | undefined): Entity {
  return other !== undefined && STRICTNESS[other.policy] > STRICTNESS[own.policy] ? other : own
}

const STRICTNESS = { off: 0, warn: 1, enforce: 2 } as const satisfies Record<GroundingPolicy, number>

/** The decision about one entity, here or else above. A refusal here for a specific reason stands. */
export function judgeBelow(
  found: FoundId,
  name: string,
  { judging, above }: { readonly judging: JudgeContext; readonly above: Above | undefined },
): Promise<Verdict> {
  const own = judgeId(found, name, judging)
  return above === undefined ? own : orAbove(found, own, { name, judging, above })
}

async function orAbove(
  found: FoundId,
  judged: Promise<Verdict>,
  { name, judging, above }: { readonly name: string; readonly judging: JudgeContext; readonly above: Above },
): Promise<Verdict> {
  const own = await judged
  if (own.kind !== 'refused') return own
  const entity = judging.entities.get(name) ?? undeclared(name)
  const verdict = await above.judge(found, entity, judging.beside)
  if (verdict.kind === 'ok') return entity.sources.has(verdict.source) ? verdict : own
  if (verdict.kind === 'ask') {
    const answer = await judging.facts.asked?.(placeText(found.path))
    return entity.sources.has('asked') ? answered(verdict, answer) : own
  }
  return own.reason === 'unknown' ? verdict : own
}
