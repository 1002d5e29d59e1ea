/**
 * An id in a conversation that another one runs below itself: what is not good here may be good there, and nothing that is
 * not good there is good here because somebody there wrote it down. How the other conversation knows is not known here.
 */
import { type Entities, type Entity, type GroundingPolicy, undeclared } from './entity.ts'
import type { Judging } from './facts.ts'
import { answered, judgeId, type Verdict } from './judge-id.ts'
import { type FoundId, placeText } from './marks.ts'
import type { NearMatches } from './near.ts'

/** The conversation above, asked about one value of one entity. A verdict that lets it pass says where it is known. */
export interface Above {
  readonly judge: (found: FoundId, entity: Entity, beside?: Judging['beside']) => Promise<Verdict>
  /** The strictest declaration of an entity there or further above; undefined if nobody there declares it. */
  readonly declared: (entity: string) => Promise<Entity | undefined>
  /** Things that are known there and like what was written. */
  readonly near: (given: string, entity: Entity) => Promise<NearMatches>
}

/** The entities as they count in a conversation: where the one above declares one more strictly, as it is declared there. */
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

/** The decision about one entity, here or else above. What was refused here for a reason stays refused for that reason. */
export function judgeBelow(
  found: FoundId,
  name: string,
  { judging, above }: { readonly judging: Judging; readonly above: Above | undefined },
): Promise<Verdict> {
  const own = judgeId(found, name, judging)
  return above === undefined ? own : orAbove(found, own, { name, judging, above })
}

async function orAbove(
  found: FoundId,
  judged: Promise<Verdict>,
  { name, judging, above }: { readonly name: string; readonly judging: Judging; readonly above: Above },
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
