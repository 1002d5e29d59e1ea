/**
 * Keeps invented ids from tools: judges the ids of a call between its hooks and its approval, by what the journal
 * knows. Nothing changes a call after that.
 */
import { chain, type MaybePromise } from '../base/index.ts'
import {
  type AskedId,
  activeIds,
  guardCall,
  isPersonal,
  isStillGrounded,
  type Judgement,
  lookupsOf,
  newlyChosen,
  personal,
  questionOf,
  refusalText,
  shownBy,
  strictest,
  withSelections,
} from '../grounding/index.ts'
import type { Call } from '../journal/index.ts'
import { endsTurn, request } from '../loop/index.ts'
import type { ActiveValue, Ground, Json, Sighting } from '../protocol/index.ts'
import { markNames, type Prepared, type Tool, thrownText } from '../tool/index.ts'
import { FROM_GROUNDING, factsOf } from './grounding-facts.ts'
import { idsAbove } from './ids-of-turn.ts'
import { preparedCall } from './ready-call.ts'
import type { ActorState } from './scope.ts'
import type { TurnRun } from './turn-run.ts'

/** A call whose ids are good, converted by its tool's schema. */
export interface GroundedCall {
  readonly call: Call
  readonly prepared: Prepared
}

/** Undefined if an id is not good: the refusal or the question is in the draft. */
export function ground(run: TurnRun, call: Call): MaybePromise<GroundedCall | undefined> {
  return chain(offeredTools(run, call), (tools) => {
    const tool = tools.find(({ name }) => name === call.tool)
    if (tool !== undefined && call.malformed === undefined && markNames(tool.parameters).length > 0)
      return judged(run, call, { tool, tools })
    return chain(preparedCall(run, call, tools), (prepared) => ({ call, prepared }))
  })
}

async function judged(
  run: TurnRun,
  call: Call,
  { tool, tools }: { readonly tool: Tool; readonly tools: readonly Tool[] },
): Promise<GroundedCall | undefined> {
  const convert = async (args: Json): Promise<Prepared> => preparedCall(run, { ...call, args }, tools)
  if (call.grounds !== undefined) {
    const prepared = await convert(call.args)
    if (!prepared.ok || (await isGroundedBefore(run, call, prepared))) return { call, prepared }
  }
  const above = run.scope.above && (await idsAbove(run))
  const own = run.scope.definition.grounding.entities
  const entities = above === undefined ? own : await strictest(own, above)
  const now = run.scope.clock.now()
  const facts = await factsOf(run, call)
  const { parameters } = tool
  const guarded = await guardCall(
    { parameters, args: call.args, allowsUnmarked: allowsUnmarked(tool), convert },
    { entities, facts, now, lookups: () => lookupsOf(tools, entities) },
    above,
  ).catch((error: unknown) => unreadable(run, call, error))
  if (guarded === undefined) return undefined
  const { judgement, converted, dropped } = guarded
  appendWarnings(run, judgement)
  if (judgement.kind === 'refused') {
    run.draft.append('tool.end', { callId: call.callId, status: 'rejected', output: judgement.output })
    return undefined
  }
  if (judgement.kind === 'ask') {
    askWhich(run, call, judgement.asks)
    return undefined
  }
  const good = withGrounds(run, call, { judgement, dropped })
  if (run.session.active !== undefined) await renew(run, judgement.grounds, now)
  return good && { call: good, prepared: converted }
}

/** The tools that the call may mean, without those that a hook hid from the model. */
function offeredTools(run: TurnRun, { offered }: Call): MaybePromise<readonly Tool[]> {
  const tools = run.tools()
  if (offered === undefined) return tools
  return chain(tools, (all) => all.filter(({ name }) => offered.includes(name)))
}

/** Settles a call whose converted arguments cannot be searched for ids; the turn continues. */
function unreadable(run: TurnRun, { callId }: Call, error: unknown): undefined {
  // The store failed, or the turn is interrupted: not the ids.
  if (!endsTurn(error)) throw error
  const message = `Not run: its ids could not be checked. ${thrownText(error, run.secrets)}`
  run.draft.append('tool.end', {
    callId,
    status: 'error',
    output: { error: 'unreadable-arguments', message },
  })
}

/** False if the schema converts the same arguments differently this time: they have to be judged again. */
export async function isGroundedBefore(
  run: TurnRun,
  { grounds = [] }: Call,
  { tool, input }: Extract<Prepared, { ok: true }>,
): Promise<boolean> {
  const { parameters } = tool
  if (markNames(parameters).length === 0) return true
  const entities = await strictest(run.scope.definition.grounding.entities, await idsAbove(run))
  return isStillGrounded({ parameters, input, allowsUnmarked: allowsUnmarked(tool) }, grounds, entities)
}

function allowsUnmarked({ grounding }: Tool): boolean {
  return grounding?.unmarkedIds === 'allow'
}

function appendWarnings(run: TurnRun, { warnings }: Judgement): void {
  for (const refusal of warnings) {
    const message = `An id was used that is not grounded. ${refusalText([refusal])}`
    run.draft.append('warning', { code: 'ungrounded', message })
  }
}

function askWhich(run: TurnRun, { callId }: Call, asks: readonly AskedId[]): void {
  const { entities, words } = run.scope.definition.grounding
  const { language } = run.open.metadata ?? {}
  for (const ask of asks) {
    const entity = entities.get(ask.entity)
    if (entity === undefined) continue
    const options = { ...words, ...(typeof language === 'string' ? { language } : {}) }
    const { name, ...question } = questionOf(ask, entity, options)
    request(run, { ...question, id: name, name, from: FROM_GROUNDING }, callId)
  }
}

/**
 * The call with the sources of its ids, which `tool.start` records. Changed arguments are an entry of their own: they
 * must be in the journal before an approval is requested.
 */
function withGrounds(
  run: TurnRun,
  call: Call,
  { judgement, dropped }: { readonly judgement: Judgement; readonly dropped: readonly string[] },
): Call | undefined {
  const { callId } = call
  const { args } = judgement
  const grounds = judgement.grounds.map((one) => withOrigin(run, one))
  if (args === call.args && dropped.length === 0) return { ...call, grounds }
  const changed = args === call.args ? {} : { args: { [callId]: args } }
  const left = dropped.length === 0 ? {} : { dropped }
  run.draft.append('phase', { name: 'ground', callId, changes: { ...changed, grounds, ...left } })
  return run.call(callId)
}

/** Records the sources of a call that does not start now, so that a later turn judges it by the same facts. */
export function recordGrounds(run: TurnRun, { callId, grounds }: Call): void {
  const isKnown = run.open.calls.some((call) => call.callId === callId && call.grounds !== undefined)
  if (grounds !== undefined && !isKnown)
    run.draft.append('phase', { name: 'ground', callId, changes: { grounds } })
}

/** Cites the parent's entry for an id that was chosen there. */
function withOrigin(run: TurnRun, { seq, ...good }: Ground): Ground {
  const values = run.session.active ?? []
  const chosen = values.find(({ entity, ...value }) => entity === good.entity && value.origin !== undefined)
  const isAbove = good.source === 'state' && chosen !== undefined && isFromAbove(run, chosen)
  if (isAbove && chosen.origin !== undefined) return { ...good, above: chosen.origin }
  return seq === undefined ? good : { ...good, seq }
}

/** Renews the expiry of choices that a call uses. */
async function renew(run: TurnRun, grounds: NonNullable<Call['grounds']>, now: number): Promise<void> {
  const isUsed = (value: ActiveValue): boolean =>
    grounds.some(({ entity, id }) => entity === value.entity && activeIds(value).includes(id))
  const isOld = (value: ActiveValue): boolean => isUsed(value) && now - value.at > RENEW_AFTER_MS
  if (run.session.active?.some(isOld))
    await choose(run, { by: 'used' }, (values) =>
      values.map((value) => (isUsed(value) ? { ...value, at: now } : value)),
    )
}

/** Choices last for hours: renewing with every call is not needed. */
const RENEW_AFTER_MS = 60_000

/** Changes the choices of the conversation and, where that is an entity's scope, of the person. */
async function choose(
  run: TurnRun,
  source: { readonly by: string; readonly chosen?: readonly string[] },
  change: (values: readonly ActiveValue[]) => readonly ActiveValue[],
): Promise<void> {
  const own = change(run.session.active ?? [])
  const persons = personsState(run)
  const values = persons === undefined ? own : await forPerson(run, { own, by: source.by, change })
  run.draft.append('active', { values, ...source })
}

async function forPerson(
  run: TurnRun,
  {
    own,
    by,
    change,
  }: {
    readonly own: readonly ActiveValue[]
    readonly by: string
    readonly change: (values: readonly ActiveValue[]) => readonly ActiveValue[]
  },
): Promise<readonly ActiveValue[]> {
  const { entities } = run.scope.definition.grounding
  try {
    const changed = await personsState(run)?.change(by, (values) => personal(change(values), entities))
    return [...(changed ?? []), ...own.filter((value) => !isPersonal(value, entities))]
  } catch (error) {
    const why = thrownText(error, run.secrets)
    const message = `The choice holds in this conversation only: ${why}`
    run.draft.append('warning', { code: 'state-not-kept', message })
    const origin = { contextId: run.scope.key.contextId, seq: run.session.seq }
    return own.map((value) => (isPersonal(value, entities) ? { ...value, origin } : value))
  }
}

/** A fork keeps the choices of its start, and shares none with the person's other conversations. */
function personsState(run: TurnRun): ActorState | undefined {
  const { actor, definition } = run.scope
  const hasAny = [...definition.grounding.entities.values()].some(({ scope }) => scope === 'actor')
  return hasAny && run.session.origin === undefined ? actor?.(run.open.principal) : undefined
}

/**
 * Reads the choices of the person and of the parent conversation, and records them, so that a replay finds the same.
 * Choices made here come first, then the person's.
 */
export async function readChoices(run: TurnRun): Promise<void> {
  const { entities } = run.scope.definition.grounding
  const persons = personsState(run)
  const above = entities.size === 0 ? undefined : run.scope.above && (await idsAbove(run))
  if (persons === undefined && above === undefined) return
  const { active = [] } = run.session
  const own = active.filter((value) => !isPersonal(value, entities) && !isFromAbove(run, value))
  const chosen = persons === undefined ? [] : personal(await run.within(persons.read()), entities)
  const inherited = ((await above?.active()) ?? []).filter(({ entity }) => entities.has(entity))
  const values = [...chosen, ...inherited].reduceRight<readonly ActiveValue[]>(
    (rest, value) => (rest.some(({ entity }) => entity === value.entity) ? rest : [value, ...rest]),
    own,
  )
  if (JSON.stringify(values) === JSON.stringify(active)) return
  run.draft.append('active', { values, by: persons === undefined ? 'above' : 'person' })
}

/** True for a choice of the parent conversation. */
function isFromAbove({ scope }: TurnRun, { origin }: ActiveValue): boolean {
  return scope.above !== undefined && origin !== undefined && origin.contextId !== scope.key.contextId
}

interface Result {
  readonly output: Json
  readonly input: unknown
  readonly seen: readonly Sighting[]
}

/**
 * The sightings of a result, with the normal forms by which ids are found again. A result counts also if its sightings
 * cannot be read: it is stored without them, after a warning.
 */
export function thingsShown(
  run: TurnRun,
  tool: Tool | undefined,
  result: Result,
): { readonly seen?: readonly Sighting[] } {
  try {
    const seen = sightingsOf(run, tool, result)
    return seen.length === 0 ? {} : { seen }
  } catch (error) {
    const message = `The ids that a result shows could not be read. ${thrownText(error, run.secrets)}`
    run.draft.append('warning', { code: 'ungrounded', message })
    return {}
  }
}

function sightingsOf(
  run: TurnRun,
  tool: Tool | undefined,
  { output, input, seen: below }: Result,
): readonly Sighting[] {
  const { entities } = run.scope.definition.grounding
  const own = tool?.grounding === undefined ? [] : shownBy(tool, { output, input }).seen
  return [...below, ...own].map((one) => {
    const normal = entities.get(one.entity)?.normal?.(one.id) ?? one.id
    return normal === one.id ? one : { ...one, normal }
  })
}

/** Appends the selections of a result, or a warning if they could not be read. */
export async function selectActive(
  run: TurnRun,
  tool: Tool,
  result: { readonly output: Json; readonly input: unknown },
): Promise<void> {
  const { selects, problem } = shownBy(tool, result)
  if (problem !== undefined) run.draft.append('warning', { code: 'ungrounded', message: problem })
  if (selects.length === 0) return
  const { entities } = run.scope.definition.grounding
  const at = run.scope.clock.now()
  // A person's choices are stored outside of this journal, too.
  const safe = run.redacted(selects)
  const chosen = newlyChosen(run.session.active ?? [], safe, 'tool')
  const source = { by: tool.name, ...(chosen.length === 0 ? {} : { chosen }) }
  await choose(run, source, (values) => withSelections(values, safe, { entities, at, by: 'tool' }))
}
