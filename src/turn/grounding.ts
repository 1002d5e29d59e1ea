/**
 * No invented id reaches a tool: what a turn knows of things and their ids, read from the journal, and what it does with
 * the judgement about a call. Between the hooks before a call and its approval; nothing changes a call after it.
 */
import {
  activeIds,
  entitiesIn,
  isPersonal,
  judgeCall,
  lookupsOf,
  personal,
  questionOf,
  refusalText,
  shownBy,
  stateBlock,
  toolMemoryBlock,
  withSelections,
} from '../grounding/index.ts'
import type { Call } from '../journal/index.ts'
import type { ActiveValue, Json, JsonObject, Sighting } from '../protocol/index.ts'
import type { Tool } from '../tool/index.ts'
import { factsOf, GROUNDING, showings } from './grounding-facts.ts'
import type { Play } from './play.ts'
import { request } from './requests.ts'
import type { ActorState } from './scope.ts'

/** The call with ids that are good; undefined if there are some that are not, and that was said. */
export async function ground(play: Play, call: Call): Promise<Call | undefined> {
  const tools = await play.tools()
  const tool = tools.find(({ name }) => name === call.tool)
  if (tool === undefined || call.malformed !== undefined || call.grounds !== undefined) return call
  if (!hasMarks(tool)) return call
  const { entities, words } = play.scope.definition.grounding
  const facts = await factsOf(play, call)
  const lookups = lookupsOf(tools, entities)
  const now = play.scope.clock.now()
  const judgement = await judgeCall(
    { parameters: tool.parameters, args: call.args },
    { entities, facts, now, lookups },
  )
  const { callId } = call
  for (const refusal of judgement.warnings) {
    const message = `An id was used that is not grounded. ${refusalText([refusal])}`
    play.draft.say('warning', { code: 'ungrounded', message: play.redacted(message) })
  }
  if (judgement.kind === 'refused') {
    play.draft.say('tool.end', { callId, status: 'rejected', output: play.redacted(judgement.output) })
    return undefined
  }
  if (judgement.kind === 'ask') {
    const { language } = play.open.metadata ?? {}
    for (const asked of judgement.asks) {
      const entity = entities.get(asked.entity)
      if (entity === undefined) continue
      const options = { ...words, ...(typeof language === 'string' ? { language } : {}) }
      const { name, ...question } = questionOf(asked, entity, options)
      request(play, { ...question, id: name, name, from: GROUNDING }, callId)
    }
    return undefined
  }
  const changed = judgement.args === call.args ? {} : { args: { [callId]: judgement.args } }
  play.draft.say('phase', { name: 'ground', callId, changes: { ...changed, grounds: judgement.grounds } })
  await renew(play, judgement.grounds, now)
  return play.open.calls.find((candidate) => candidate.callId === callId)
}

function hasMarks({ parameters }: Tool): boolean {
  let marked = MARKED.get(parameters)
  if (marked === undefined) {
    marked = entitiesIn(parameters).length > 0
    MARKED.set(parameters, marked)
  }
  return marked
}

const MARKED = new WeakMap<JsonObject, boolean>()

/** What is used stays chosen for as long as if it had been chosen now. */
async function renew(play: Play, grounds: NonNullable<Call['grounds']>, now: number): Promise<void> {
  const isUsed = (value: ActiveValue): boolean =>
    grounds.some(({ entity, id }) => entity === value.entity && activeIds(value).includes(id))
  const isOld = (value: ActiveValue): boolean => isUsed(value) && now - value.at > RENEW_AFTER_MS
  if (play.session.active?.some(isOld))
    await choose(play, 'used', (values) =>
      values.map((value) => (isUsed(value) ? { ...value, at: now } : value)),
    )
}

/** Not with every call: what is chosen lasts for hours. */
const RENEW_AFTER_MS = 60_000

/** Changes what is chosen, for the conversation and, where that is its scope, for the person. */
async function choose(
  play: Play,
  by: string,
  change: (values: readonly ActiveValue[]) => readonly ActiveValue[],
): Promise<void> {
  const own = change(play.session.active ?? [])
  const persons = personsState(play)
  const values = persons === undefined ? own : await forPerson(play, { own, by, change })
  play.draft.say('active', { values, by })
}

async function forPerson(
  play: Play,
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
  const { entities } = play.scope.definition.grounding
  try {
    const changed = await personsState(play)?.change(by, (values) => personal(change(values), entities))
    return [...(changed ?? []), ...own.filter((value) => !isPersonal(value, entities))]
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const message = `What was chosen holds in this conversation only: ${why}`
    play.draft.say('warning', { code: 'state-not-kept', message: play.redacted(message) })
    const origin = { contextId: play.scope.key.contextId, seq: play.session.seq }
    return own.map((value) => (isPersonal(value, entities) ? { ...value, origin } : value))
  }
}

/** A fork has what was chosen when it was made, and goes its own way from there. */
function personsState(play: Play): ActorState | undefined {
  const { actor, definition } = play.scope
  const hasAny = [...definition.grounding.entities.values()].some(({ scope }) => scope === 'actor')
  return hasAny && play.session.origin === undefined ? actor?.(play.open.principal) : undefined
}

/** Reads what the person has chosen elsewhere, and puts it on record, so that the turn can be played again as it was. */
export async function hearPerson(play: Play): Promise<void> {
  const persons = personsState(play)
  if (persons === undefined) return
  const { entities } = play.scope.definition.grounding
  const { active = [] } = play.session
  const own = active.filter((value) => !isPersonal(value, entities))
  const chosen = personal(await play.within(persons.read()), entities)
  const values = [...chosen.filter(({ entity }) => own.every((value) => value.entity !== entity)), ...own]
  if (JSON.stringify(values) !== JSON.stringify(active)) play.draft.say('active', { values, by: 'person' })
}

/** What a result shows, for its entry, with the normal forms by which ids are found again; what it chooses is said after it. */
export function shown(
  play: Play,
  tool: Tool | undefined,
  result: { readonly output: Json; readonly input: unknown },
): { readonly seen?: readonly Sighting[] } {
  if (tool?.grounding === undefined) return {}
  const { entities } = play.scope.definition.grounding
  const seen = shownBy(tool, result).seen.map((one) => {
    const normal = entities.get(one.entity)?.normal?.(one.id) ?? one.id
    return normal === one.id ? one : { ...one, normal }
  })
  return seen.length === 0 ? {} : { seen }
}

/** Says what a result chose, and why it could not be read if it could not. */
export async function select(
  play: Play,
  tool: Tool | undefined,
  result: { readonly output: Json; readonly input: unknown },
): Promise<void> {
  if (tool?.grounding === undefined) return
  const { selects, problem } = shownBy(tool, result)
  if (problem !== undefined)
    play.draft.say('warning', { code: 'ungrounded', message: play.redacted(problem) })
  if (selects.length === 0) return
  const { entities } = play.scope.definition.grounding
  const at = play.scope.clock.now()
  await choose(play, tool.name, (values) => withSelections(values, selects, { entities, at, by: 'tool' }))
}

/** What a prompt ends with: what tools have shown lately, and what is chosen. `handle` is what stands for an id. */
export async function groundingBlocks(
  play: Play,
  wire: { readonly handle?: (entity: string, id: string) => string } = {},
): Promise<string | undefined> {
  const { entities, words, memoryTurns } = play.scope.definition.grounding
  if (entities.size === 0) return undefined
  const { language } = play.open.metadata ?? {}
  const options = { ...words, ...wire, entities, ...(typeof language === 'string' ? { language } : {}) }
  const now = play.scope.clock.now()
  const turns = Map.groupBy(await showings(play), ({ turn }) => turn)
  const memory = toolMemoryBlock(
    [...turns].map(([turn, group]) => ({ turn, seen: group.flatMap(({ seen }) => seen) })),
    { ...options, turns: memoryTurns },
  )
  const state = stateBlock(play.session.active ?? [], { ...options, now })
  const blocks = [memory, state].filter((block) => block !== undefined)
  return blocks.length === 0 ? undefined : blocks.join('\n\n')
}
