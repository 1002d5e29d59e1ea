/**
 * Whether a call may reach its tool: every id among its arguments has to be grounded. What is a label or a place becomes
 * the id that it means. It decides and runs nothing.
 */
import type { Ground, Json, JsonObject } from '../protocol/index.ts'
import { type Above, judgeBelow } from './above.ts'
import { type Entity, undeclared } from './entity.ts'
import type { Judging } from './facts.ts'
import type { Asking, Passed, Refused, Verdict } from './judge-id.ts'
import { type FoundId, idsIn, placeText, withIds, writtenAt } from './marks.ts'
import { nearMatches } from './near.ts'
import { type Refusal, refusalOf, refusalOutput } from './refusal.ts'
import { textOf } from './rows.ts'

/** A question about one place of a call. The answer is one of the ids. */
export interface AskedId extends Asking {
  readonly path: string
  readonly given: Json
}

/**
 * `ok`: run it with these arguments. `ask`: the person has to say which things are meant; judge it again with the
 * answers. `refused`: do not run it, `output` is its result. Warnings are refusals of entities that only warn.
 */
export type Judgement = Judged &
  (
    | { readonly kind: 'ok' }
    | { readonly kind: 'ask'; readonly asks: readonly AskedId[] }
    | { readonly kind: 'refused'; readonly refusals: readonly Refusal[]; readonly output: JsonObject }
  )

/** The ids that passed, and the arguments with them in their places. */
interface Judged {
  readonly args: Json
  readonly grounds: readonly Ground[]
  readonly warnings: readonly Refusal[]
}

/**
 * Judges the ids of a call as they are written; `found` are these, where they are not all that the schema marks. A refusal
 * comes before a question, because the person should not be asked about a call that cannot be made.
 */
export async function judgeCall(
  call: { readonly parameters: JsonObject; readonly args: Json; readonly found?: readonly FoundId[] },
  judging: Judging,
  above?: Above,
): Promise<Judgement> {
  const passed: { readonly found: FoundId; readonly verdict: Passed }[] = []
  const asks: AskedId[] = []
  const refusals: Refusal[] = []
  const warnings: Refusal[] = []
  for (const found of call.found ?? idsIn(call.parameters, call.args)) {
    const entities = found.entities.map((name) => judging.entities.get(name) ?? undeclared(name))
    if (entities.some(({ policy }) => policy === 'off')) continue
    const verdict = await judgeAny(found, judging, above)
    const { path, given } = found
    if (verdict.kind === 'ok') passed.push({ found, verdict })
    else if (verdict.kind === 'ask') asks.push({ ...verdict, path: placeText(path), given })
    else {
      const entity = entities.find(({ name }) => name === verdict.entity) ?? undeclared(verdict.entity)
      const list = entities.some(({ policy }) => policy === 'warn') ? warnings : refusals
      list.push(await refuse(found, { verdict, entity, above }, judging))
    }
  }
  const judged = { ...groundedArgs(call.args, passed), warnings }
  if (refusals.length > 0) return { kind: 'refused', refusals, output: refusalOutput(refusals), ...judged }
  return asks.length > 0 ? { kind: 'ask', asks, ...judged } : { kind: 'ok', ...judged }
}

/** An id that may be of several entities has to be good as one of them. */
async function judgeAny(found: FoundId, judging: Judging, above: Above | undefined): Promise<Verdict> {
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

async function refuse(
  { path, given }: FoundId,
  {
    verdict,
    entity,
    above,
  }: { readonly verdict: Refused; readonly entity: Entity; readonly above: Above | undefined },
  judging: Judging,
): Promise<Refusal> {
  const lookup = judging.lookups?.[entity.name]
  const isNear = verdict.reason === 'unknown' || verdict.reason === 'wrong-kind'
  const text = textOf(given) ?? ''
  const own = isNear ? await nearMatches(text, entity, judging) : []
  const near = isNear && own.length === 0 ? ((await above?.near(text, entity)) ?? []) : own
  return refusalOf({
    verdict,
    entity,
    path: placeText(path),
    given,
    near,
    ...(lookup === undefined ? {} : { lookup }),
  })
}

function groundedArgs(
  args: Json,
  passed: readonly { readonly found: FoundId; readonly verdict: Passed }[],
): { readonly args: Json; readonly grounds: readonly Ground[] } {
  const changed = passed.filter(({ found, verdict }) => !isExact(found, verdict))
  return {
    args: withIds(
      args,
      changed.map(({ found, verdict }) => ({ found, to: writtenAt(found, verdict.id) })),
    ),
    grounds: passed.map(({ found, verdict }) => ({
      path: placeText(found.path),
      entity: verdict.entity,
      id: verdict.id,
      source: verdict.source,
      ...(isExact(found, verdict) ? {} : { said: found.given }),
      ...(verdict.seq === undefined ? {} : { seq: verdict.seq }),
      ...(verdict.above === undefined ? {} : { above: verdict.above }),
    })),
  }
}
