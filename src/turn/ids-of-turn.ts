/** Judges ids of a turn for the conversations that it runs below itself, and finds the parent of its own words. */
import { unexpired } from '../grounding/index.ts'
import { judgeForChildren, type ParentIdJudge } from '../loop/index.ts'
import type { ContextKey, Entry, EntryData } from '../protocol/index.ts'
import { entriesSoFar } from './context-fill.ts'
import { factsOf } from './grounding-facts.ts'
import type { TurnRun } from './turn-run.ts'

/** For the time that a turn waits for a call or a hook. */
export function idsOfTurn(run: TurnRun): ParentIdJudge {
  const { key, definition, clock } = run.scope
  const { entities } = definition.grounding
  return {
    key,
    active: async () => {
      const chosen = (await entriesSoFar(run)).findLast(({ type }) => type === 'active')
      const origin = { contextId: key.contextId, seq: chosen?.seq ?? run.session.seq }
      return unexpired(run.session.active ?? [], entities, clock.now()).map((value) =>
        value.origin === undefined ? { ...value, origin } : value,
      )
    },
    ...judgeForChildren({
      key,
      entities,
      now: () => clock.now(),
      above: () => idsAbove(run),
      // A call that is no longer awaited has no open turn.
      know: async () => {
        const { open } = run.session
        if (open === undefined) return undefined
        return { facts: await factsOf(run, NO_CALL), seq: open.startSeq }
      },
    }),
  }
}

const NO_CALL = { callId: '', tool: '', state: 'requested', args: null } as const

/** The parent conversation; undefined if the turn's inputs are not from there. */
export async function idsAbove(run: TurnRun): Promise<ParentIdJudge | undefined> {
  const { above, key } = run.scope
  if (above === undefined || isChild(key, above.key)) return above
  const { turn } = run.open
  const entries = await entriesSoFar(run)
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
