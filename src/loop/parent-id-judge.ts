/**
 * Judges ids for child conversations that run inside a call. Texts that a model or a program passes down are no
 * person's words, so an id is good below only if it is good here: shown, chosen, or written by the person.
 */
import {
  type Above,
  type Entities,
  type Entity,
  type Facts,
  type FoundId,
  isExpired,
  type JudgeContext,
  judgeBelow,
  MemoryFacts,
  type NearMatches,
  nearMatches,
  stricter,
  type Verdict,
} from '../grounding/index.ts'
import type { SeenInRun } from '../journal/index.ts'
import {
  type ActiveValue,
  type ContextKey,
  type Entry,
  type EntryData,
  ownTexts,
  personsTexts,
} from '../protocol/index.ts'

/** Judges ids for the child conversations of a conversation. */
export interface ParentIdJudge extends Above {
  readonly key: ContextKey
  /** The active choices, with their entries. */
  readonly active: () => Promise<readonly ActiveValue[]>
}

/** The sources of ids in a graph run. */
export interface RunKnowledge {
  readonly key: ContextKey
  readonly now: () => number
  /** The sightings of nodes, oldest first. */
  readonly seen: () => readonly SeenInRun[]
  /** The texts of persons: `graph.start` and `request.end`, oldest first. */
  readonly personsEntries: () => Promise<readonly Entry[]>
  /** The judge of the caller, if a call runs the graph. */
  readonly above: ParentIdJudge | undefined
}

export function idsOfRun({ key, now, seen, personsEntries, above }: RunKnowledge): ParentIdJudge {
  return {
    key,
    active: async () => (await above?.active()) ?? [],
    ...judgeForChildren({
      key,
      entities: new Map(),
      now,
      above: async () => above,
      know: async (entity) => {
        const entries = (await personsEntries()).filter((entry) => !isExpired(entry, entity, now()))
        const bySeq = Map.groupBy(seen(), ({ seq }) => seq)
        const facts = new MemoryFacts({
          batches: [...bySeq].map(([seq, group]) => ({ seq, at: group[0]?.at ?? 0, seen: group })),
          userText: entries.flatMap(textsOf).join('\n'),
        })
        const newest = entries.at(-1)?.seq
        return { facts, ...(newest === undefined ? {} : { seq: newest }) }
      },
    }),
  }
}

/** Every text that a person gave to a run, at any depth. Picked options are the asker's words. */
function textsOf({ type, data }: Entry): readonly string[] {
  if (type === 'graph.start') return personsTexts((data as EntryData['graph.start']).update)
  return type === 'request.end' ? ownTexts(data) : []
}

interface IdSources {
  readonly key: ContextKey
  readonly entities: Entities
  readonly now: () => number
  readonly above: () => Promise<ParentIdJudge | undefined>
  /** `seq`: the entry cited for facts without one of their own. */
  readonly know: (entity: Entity) => Promise<{ readonly facts: Facts; readonly seq?: number } | undefined>
}

/** The judge of a conversation with these sources. An entity counts as declared here; an undeclared one, as the child declares it. */
export function judgeForChildren({ key, entities, now, above, know }: IdSources): Above {
  return {
    declared: async (name: string): Promise<Entity | undefined> => {
      const own = entities.get(name)
      const upper = await (await above())?.declared(name)
      return own === undefined ? upper : stricter(own, upper)
    },
    judge: async (found: FoundId, entity: Entity, beside?: JudgeContext['beside']): Promise<Verdict> => {
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
    near: async (text: string, entity: Entity): Promise<NearMatches> => {
      const known = await know(entity)
      const own = known && (await nearMatches(text, entity, { entities, facts: known.facts, now: now() }))
      if (own !== undefined && own.near.length > 0) return own
      return (await (await above())?.near(text, entity)) ?? { near: [] }
    },
  }
}
