/**
 * What a conversation knows of ids, for those that it runs below itself. Words that a model or a program passes down are
 * not the person's, so an id is good below only if it is good here: shown, chosen, or said by the person.
 */
import {
  type Above,
  type Entities,
  type Entity,
  type Facts,
  type FoundId,
  isExpired,
  type Judging,
  judgeBelow,
  MemoryFacts,
  type NearMatches,
  nearMatches,
  unexpired,
  type Verdict,
} from '../grounding/index.ts'
import type { SeenInRun } from '../journal/index.ts'
import { type ContextKey, type Entry, type EntryData, type Json } from '../protocol/index.ts'
import { entriesSoFar } from './context.ts'
import { factsOf } from './grounding-facts.ts'
import type { Play } from './play.ts'
import type { IdsAbove } from './scope.ts'

/** Of a turn of an agent, while it waits for a call or a hook. */
export function idsOfTurn(play: Play): IdsAbove {
  const { key, definition, clock } = play.scope
  const { entities } = definition.grounding
  return {
    key,
    active: async () => {
      const said = (await entriesSoFar(play)).findLast(({ type }) => type === 'active')
      const origin = { contextId: key.contextId, seq: said?.seq ?? play.session.seq }
      return unexpired(play.session.active ?? [], entities, clock.now()).map((value) =>
        value.origin === undefined ? { ...value, origin } : value,
      )
    },
    ...aboveOf({
      key,
      entities,
      now: () => clock.now(),
      above: () => idsAbove(play),
      // A call that is not waited for any more has no turn to speak of.
      know: async () => {
        const { open } = play.session
        if (open === undefined) return undefined
        return { facts: await factsOf(play, NO_CALL), seq: open.startSeq }
      },
    }),
  }
}

const NO_CALL = { callId: '', tool: '', state: 'requested', args: null } as const

/** The conversation that this turn serves; undefined if its words are not from there. */
export async function idsAbove(play: Play): Promise<IdsAbove | undefined> {
  const { above, key } = play.scope
  if (above === undefined || isChild(key, above.key)) return above
  const { turn } = play.open
  const entries = await entriesSoFar(play)
  const taken = new Set(entries.filter((entry) => entry.turn === turn).flatMap(({ takes = [] }) => takes))
  const inputs = entries.filter(({ seq, type }) => (type === 'input' || type === 'answer') && taken.has(seq))
  const isFromThere = ({ data }: Entry): boolean =>
    (data as EntryData['input' | 'answer']).origin?.contextId === above.key.contextId
  return inputs.length > 0 && inputs.every(isFromThere) ? above : undefined
}

function isChild(key: ContextKey, above: ContextKey): boolean {
  const isOwners = key.tenant === above.tenant && key.actor === above.actor
  return isOwners && key.contextId.startsWith(`${above.contextId}/`)
}

/** What the run of a graph knows of ids. */
export interface RunKnowledge {
  readonly key: ContextKey
  readonly now: () => number
  /** What nodes vouch for, oldest first. */
  readonly seen: () => readonly SeenInRun[]
  /** What persons have said to it: `graph.start` and `request.end`, oldest first. */
  readonly said: () => Promise<readonly Entry[]>
  /** If the run was asked for by a call. */
  readonly above: IdsAbove | undefined
}

export function idsOfRun({ key, now, seen, said, above }: RunKnowledge): IdsAbove {
  return {
    key,
    active: async () => (await above?.active()) ?? [],
    ...aboveOf({
      key,
      entities: new Map(),
      now,
      above: async () => above,
      know: async (entity) => {
        const entries = (await said()).filter((entry) => !isExpired(entry, entity, now()))
        const bySeq = Map.groupBy(seen(), ({ seq }) => seq)
        const facts = new MemoryFacts({
          batches: [...bySeq].map(([seq, group]) => ({ seq, at: group[0]?.at ?? 0, seen: group })),
          userText: entries.flatMap(wordsOf).join('\n'),
        })
        const newest = entries.at(-1)?.seq
        return { facts, ...(newest === undefined ? {} : { seq: newest }) }
      },
    }),
  }
}

/** Every text that a person gave to a run, whatever it stands in. */
function wordsOf({ type, data }: Entry): readonly string[] {
  if (type === 'graph.start') return textsIn((data as EntryData['graph.start']).update)
  return type === 'request.end' ? textsIn((data as EntryData['request.end']).value ?? null) : []
}

function textsIn(value: Json): readonly string[] {
  if (typeof value === 'string' || typeof value === 'number') return [String(value)]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap((inner) => (inner === undefined ? [] : textsIn(inner)))
}

interface Knowing {
  readonly key: ContextKey
  readonly entities: Entities
  readonly now: () => number
  readonly above: () => Promise<IdsAbove | undefined>
  /** `seq`: the entry that stands for what has none of its own. */
  readonly know: (entity: Entity) => Promise<{ readonly facts: Facts; readonly seq?: number } | undefined>
}

/** Entities count as they are declared here; those that are not, as they are declared below. */
function aboveOf({ key, entities, now, above, know }: Knowing): Above {
  return {
    judge: async (found: FoundId, entity: Entity, beside?: Judging['beside']): Promise<Verdict> => {
      const known = await know(entity)
      if (known === undefined) return { kind: 'refused', entity: entity.name, reason: 'unknown' }
      const { facts, seq } = known
      const all = entities.has(entity.name) ? entities : new Map([...entities, [entity.name, entity]])
      const judging = { entities: all, facts, now: now(), ...(beside === undefined ? {} : { beside }) }
      const verdict = await judgeBelow(found, entity.name, { judging, above: await above() })
      if (verdict.kind !== 'ok' || verdict.above !== undefined) return verdict
      const { seq: own = seq, ...passed } = verdict
      return { ...passed, above: { contextId: key.contextId, ...(own === undefined ? {} : { seq: own }) } }
    },
    near: async (given: string, entity: Entity): Promise<NearMatches> => {
      const known = await know(entity)
      const own = known && (await nearMatches(given, entity, { entities, facts: known.facts, now: now() }))
      if (own !== undefined && own.near.length > 0) return own
      return (await (await above())?.near(given, entity)) ?? { near: [] }
    },
  }
}
