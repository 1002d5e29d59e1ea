/** From a refused id to the next step: what the refusal says to do, as far as it can be done without guessing. */
import { askWhich } from './asking.ts'
import type { Goal, Situation, Step } from './goal.ts'
import type { Things } from './knowledge.ts'
import { isMarked, markedRows } from './marked.ts'
import { type Refusal, refusalOf } from './refusal.ts'
import type { Row } from './results.ts'
import type { Param } from './schema.ts'

interface Refused {
  readonly refusal: Refusal
  readonly param: Param
  /** The place of the call among those of the turn. */
  readonly at: number
}

/** The latest refusal of a call for this goal. */
function latest({ tool, preset }: Goal, { calls }: Situation): Refused | undefined {
  const at = calls.findLastIndex((call) => {
    const refusal = call.tool === tool.tool.name ? refusalOf(call) : undefined
    const settled = refusal === undefined ? undefined : preset[refusal.path]
    return refusal !== undefined && (settled === undefined || settled === refusal.given)
  })
  const refusal = at < 0 ? undefined : refusalOf(calls[at] ?? { output: null, failed: false })
  const param = tool.tool.params.find(({ name }) => name === refusal?.path)
  return refusal === undefined || param === undefined ? undefined : { refusal, param, at }
}

/** Where a refusal names several, each of them is a goal of its own. */
export function oneByOne(goal: Goal, situation: Situation): readonly Goal[] | undefined {
  const refused = latest(goal, situation)
  if (refused === undefined || refused.refusal.do !== 'one-by-one') return undefined
  const { ids, path } = refused.refusal
  return ids.map((id) => ({ ...goal, preset: { ...goal.preset, [path]: id } }))
}

export type Advice =
  | { readonly kind: 'goal'; readonly goal: Goal }
  | { readonly kind: 'step'; readonly step: Step }
  /** Look at things of this kind once more: what a tool of this turn shows is good. */
  | { readonly kind: 'look'; readonly param: Param; readonly orElse: Step }

/** Undefined if nothing was refused. */
export function adviceOn(goal: Goal, situation: Situation): Advice | undefined {
  const refused = latest(goal, situation)
  if (refused === undefined || refused.refusal.do === 'one-by-one') return undefined
  const { refusal, param, at } = refused
  const settled = (id: string): Advice => ({
    kind: 'goal',
    goal: { ...goal, preset: { ...goal.preset, [param.name]: id } },
  })
  const { tool, ids } = refusal
  const given = typeof refusal.given === 'string' ? refusal.given : JSON.stringify(refusal.given)
  const known = isMarked(param) ? markedRows(situation.things, param.entity) : []
  const askAmong = (rows: readonly Row[]): Advice => ({
    kind: 'step',
    step: askWhich(goal, { param, rows, said: '' }, situation.things),
  })
  // The person spoke of another thing than the chosen one, so the chosen one is no way out.
  const isOther = refusal.reason === 'not-active'
  if (refusal.do === 'use' && !isOther) {
    const [id] = ids
    return id !== undefined && ids.length === 1
      ? settled(id)
      : askAmong(known.filter((row) => ids.includes(String(row.id))))
  }
  if (tool === undefined) {
    const later = situation.calls.slice(at + 1)
    const isShown = later.some(({ seen = [] }) => seen.some(({ id }) => id === given))
    if (isShown && later.every((call) => refusalOf(call) === undefined)) return settled(given)
    const orElse = askWhich(goal, { param, rows: known, said: '' }, situation.things)
    return later.length === 0 && isOther ? { kind: 'look', param, orElse } : { kind: 'step', step: orElse }
  }
  const label = known.find(({ id }) => id === given)?.label ?? given
  const found = situation.calls.slice(at + 1).find((call) => call.tool === tool)
  if (found === undefined) return { kind: 'step', step: lookUpBy(label, tool, situation) }
  const seen = outcomeOf(found.output) === 'none' ? [] : (found.seen ?? [])
  const [first, second] = seen
  if (first !== undefined && (second === undefined || seen.some(({ id }) => id === given)))
    return settled(second === undefined ? first.id : given)
  if (first !== undefined && seen.every((one) => one.label === first.label) && first.label !== undefined)
    return settled(first.label)
  return askAmong(shownRows(found.seen ?? [], known))
}

export function outcomeOf(output: unknown): unknown {
  return (output as { readonly outcome?: unknown } | null | undefined)?.outcome
}

/** The call of a tool that finds things by their name. */
export function lookUpBy(name: string, tool: string, { profiles }: Pick<Situation, 'profiles'>): Step {
  const params = profiles.find((profile) => profile.tool.name === tool)?.tool.params ?? []
  const text = params.find(({ type, required, isId }) => type === 'string' && required && !isId)
  return { kind: 'call', calls: [{ tool, args: { [text?.name ?? 'name']: name } }] }
}

function shownRows(seen: readonly { readonly id: string }[], known: Things['rows']): readonly Row[] {
  const shown = known.filter((row) => seen.some(({ id }) => id === row.id))
  return shown.length > 0 ? shown : known
}
