/**
 * What a conversation knows of ids, for those that are run inside of its calls. Words that a model or a program passes
 * down are not the person's, so an id is good below only if it is good here: shown, chosen, or said by the person.
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
  textsIn,
} from '../protocol/index.ts'

/** What a conversation knows of ids, for those that are run inside of its calls. */
export interface IdsAbove extends Above {
  readonly key: ContextKey
  /** What is chosen there, with the entry that says so. */
  readonly active: () => Promise<readonly ActiveValue[]>
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

/** Every text that a person gave to a run, whatever it stands in. Picked options are the asker's words. */
function wordsOf({ type, data }: Entry): readonly string[] {
  if (type === 'graph.start') return textsIn((data as EntryData['graph.start']).update)
  return type === 'request.end' ? ownTexts(data) : []
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
export function aboveOf({ key, entities, now, above, know }: Knowing): Above {
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
    near: async (given: string, entity: Entity): Promise<NearMatches> => {
      const known = await know(entity)
      const own = known && (await nearMatches(given, entity, { entities, facts: known.facts, now: now() }))
      if (own !== undefined && own.near.length > 0) return own
      return (await (await above())?.near(given, entity)) ?? { near: [] }
    },
  }
}
