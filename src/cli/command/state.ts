/** `holdfast state ID`: prints active things with their expiry, and the grounds of the ids of the last calls. */
import type { ContextKey, Store } from 'holdfast'
import type { Entity } from 'holdfast/grounding'
import { type Entry, type EntryData, loadSession, type Session } from 'holdfast/journal'
import { STATE_CONTEXT } from 'holdfast/operate'
import { bold, joinLines, type Styled, styled, visibleValue } from 'holdfast/terminal'
import { namedContext } from '../names.ts'
import { tableLines } from '../terminal/table.ts'
import { oneLine } from '../terminal/text.ts'
import type { Workspace } from '../workspace.ts'
import { type CommandContext, columnsOf, showConversation } from './context.ts'
import { whenText } from './sessions.ts'

export function state(context: CommandContext): Promise<number> {
  const { args, out } = context
  return showConversation(context, async ({ workspace, store, head: { key } }) => {
    const { contextId } = key
    const agent = namedContext(contextId, workspace.names)?.agent
    const entities = entitiesOf(workspace, agent)
    const session = await loadSession(store, key)
    const values = await activeValues(store, { key, session, entities })
    const active = values.map((value) => activeThing(value, entities))
    const calls = await groundedCalls(store, { key, session })
    if (args.has('json')) return out.json({ contextId, agent: agent ?? null, active, calls }, 2)
    const columns = columnsOf(out)
    const isPersons = contextId === STATE_CONTEXT
    const blocks = [
      [bold(contextId)],
      activeLines(active, columns),
      ...(isPersons ? [] : [callLines(calls, columns)]),
    ]
    out.write(joinLines(blocks.map((lines) => styled`${joinLines(lines)}\n`)))
  })
}

type ActiveValue = NonNullable<Session['active']>[number]
type Entities = ReadonlyMap<string, Entity>

/** The entities of an agent; of all agents if the journal is no agent's. */
function entitiesOf({ agents }: Workspace, agent: string | undefined): Entities {
  const definitions = Object.entries(agents).filter(([name]) => agent === undefined || name === agent)
  const entities = new Map<string, Entity>()
  for (const [, { entities: declared = [] }] of definitions)
    for (const each of declared)
      for (let one: Entity | undefined = each; one !== undefined; one = one.parent)
        entities.set(one.name, one)
  return entities
}

interface Journal {
  readonly key: ContextKey
  readonly session: Session
}

/** The active values of the next turn: personal ones come from the person's journal, except in a fork. */
async function activeValues(
  store: Store,
  { key, session, entities }: Journal & { readonly entities: Entities },
): Promise<readonly ActiveValue[]> {
  const { active = [], origin } = session
  const isPersonal = (value: ActiveValue) =>
    value.origin === undefined && entities.get(value.entity)?.scope === 'actor'
  if (key.contextId === STATE_CONTEXT || origin !== undefined || ![...entities.values()].some(isActors))
    return active
  const { active: chosen = [] } = await loadSession(store, { ...key, contextId: STATE_CONTEXT })
  const own = active.filter((value) => !isPersonal(value))
  const isOwn = ({ entity }: ActiveValue) => own.some((value) => value.entity === entity)
  return [...chosen.filter((value) => isPersonal(value) && !isOwn(value)), ...own]
}

function isActors({ scope }: Entity): boolean {
  return scope === 'actor'
}

interface ActiveThing {
  readonly entity: string
  readonly ids: readonly string[]
  readonly label: string | null
  readonly since: string
  /** Null if no agent here has this entity. */
  readonly until: string | null
  readonly expired: boolean
}

function activeThing({ entity, id, ids, label, at }: ActiveValue, entities: Entities): ActiveThing {
  const ttlMs = entities.get(entity)?.ttlMs
  const until = ttlMs === undefined || !Number.isFinite(ttlMs) ? undefined : new Date(at + ttlMs)
  return {
    entity,
    ids: ids ?? [id],
    label: label ?? null,
    since: new Date(at).toISOString(),
    until: until?.toISOString() ?? null,
    expired: until !== undefined && until.getTime() <= Date.now(),
  }
}

type Ground = NonNullable<EntryData['tool.start']['grounds']>[number]

interface GroundedCall {
  readonly turn: number
  readonly callId: string
  readonly tool: string | null
  readonly grounds: readonly Ground[]
}

const MOST_CALLS = 10
const PAGE = 500
const MOST_PAGES = 20

/** The newest calls with accepted ids, oldest first. */
async function groundedCalls(store: Store, { key, session }: Journal): Promise<readonly GroundedCall[]> {
  const calls: Omit<GroundedCall, 'tool'>[] = []
  const tools = new Map<string, string>()
  let to = session.seq
  // The names of the tools come before their grounds, so one more page than needed is read.
  for (let page = 0, isDone = false; page < MOST_PAGES && to > 0 && !isDone; page++) {
    isDone = calls.length >= MOST_CALLS
    const entries = await store.read(key, {
      order: 'newest',
      limit: PAGE,
      from: (session.cleared ?? 0) + 1,
      to,
    })
    for (const entry of entries) readCall(entry, { calls, tools })
    to = (entries.at(-1)?.seq ?? 1) - 1
  }
  return calls
    .slice(0, MOST_CALLS)
    .toReversed()
    .map((call) => ({ ...call, tool: tools.get(call.callId) ?? null }))
}

function readCall(
  { type, turn, data }: Entry,
  { calls, tools }: { readonly calls: Omit<GroundedCall, 'tool'>[]; readonly tools: Map<string, string> },
): void {
  if (type === 'model.end')
    for (const part of (data as EntryData['model.end']).content)
      if (part.type === 'tool-call') tools.set(part.callId, part.tool)
  const { callId, grounds = [] } = groundsIn(type, data)
  const isNew = calls.every((call) => call.callId !== callId)
  if (callId !== undefined && grounds.length > 0 && isNew) calls.push({ turn, callId, grounds })
}

/** A call that was changed or parked before it started has a `phase` with its grounds as well. */
function groundsIn(
  type: string,
  data: Entry['data'],
): { readonly callId?: string; readonly grounds?: readonly Ground[] } {
  if (type === 'tool.start') return data
  if (type !== 'phase') return {}
  const { callId, changes } = data as EntryData['phase']
  return { ...(callId && { callId }), ...(changes?.grounds && { grounds: changes.grounds }) }
}

function activeLines(active: readonly ActiveThing[], columns: number): Styled[] {
  if (active.length === 0) return [styled`Nothing is active.`]
  const now = new Date()
  const rows = active.map(({ entity, ids, label, until, expired }) => {
    const when = until === null ? '-' : whenText(new Date(until), now)
    return [entity, oneLine(label ?? '-'), oneLine(ids.join(', ')), expired ? `${when} (expired)` : when]
  })
  return tableLines([['ACTIVE', 'LABEL', 'ID', 'UNTIL'], ...rows], columns)
}

function callLines(calls: readonly GroundedCall[], columns: number): Styled[] {
  if (calls.length === 0) return [styled`No call had an id yet.`]
  const rows = calls.flatMap(({ turn, tool, grounds }) =>
    grounds.map((ground) => [
      oneLine(tool ?? '-'),
      String(turn),
      oneLine(ground.path),
      oneLine(`${ground.entity} ${ground.id}`),
      oneLine(sourceText(ground)),
    ]),
  )
  return tableLines([['TOOL', 'TURN', 'ARGUMENT', 'ID', 'FROM'], ...rows], columns)
}

function sourceText({ source, said, seq, above }: Ground): string {
  const words = {
    state: 'it is active',
    seen: 'shown by a tool',
    said: 'written by the person',
    label: 'its label',
    ordinal: 'its place in a list',
    asked: 'the person was asked',
  }[source]
  const wrote = said === undefined ? '' : ` ${visibleValue(said)}`
  const at = above ?? { contextId: undefined, seq }
  const entry = at.seq === undefined ? '' : `, entry ${at.seq}`
  return `${words}${wrote}${entry}${at.contextId === undefined ? '' : ` of ${at.contextId}`}`
}
