/** What a turn knows of things and their ids when a call is judged: from its window, and from indexes of the journal. */
import { type Facts, type Seen, unexpired } from '../grounding/index.ts'
import type { Call } from '../journal/index.ts'
import { type Entry, type EntryData, normalLabel, type Sighting } from '../protocol/index.ts'
import { entriesSoFar } from './context.ts'
import { type Play, textOf } from './play.ts'
import { dataOf } from './stage.ts'

/** Who asks when the person has to say which thing is meant. */
export const GROUNDING = 'grounding'

interface Showing {
  readonly turn: number
  readonly at: number
  readonly seq: number
  readonly seen: readonly Sighting[]
}

/** Results in the window that showed things, oldest first, with those that are not durable yet. */
export async function showings(play: Play): Promise<readonly Showing[]> {
  const now = play.scope.clock.now()
  return (await entriesSoFar(play)).flatMap((entry) => {
    const { seen = [] } = entry.type === 'tool.end' ? dataOf(entry, 'tool.end') : {}
    return seen.length === 0 ? [] : [{ turn: entry.turn, at: entry.at || now, seq: entry.seq, seen }]
  })
}

export async function factsOf(play: Play, { answers = [] }: Call): Promise<Facts> {
  const { view, definition, clock } = play.scope
  const entries = await entriesSoFar(play)
  const held = [...(await showings(play))].reverse()
  const active = unexpired(play.session.active ?? [], definition.grounding.entities, clock.now())
  const inWindow = (entity: string, is: (one: Sighting) => boolean): Seen[] =>
    held.flatMap(({ at, seq, seen }) =>
      seen.filter((one) => one.entity === entity && is(one)).map((one) => ({ ...one, at, seq })),
    )
  const { turn } = play.open
  return {
    active: (entity) => active.find((value) => value.entity === entity),
    seen: async (entity, id) =>
      inWindow(entity, (one) => one.id === id)[0] ?? (await view.seen(entity, { id }))[0],
    seenThisTurn: (entity, id) =>
      held.some(
        (one) => one.turn === turn && one.seen.some((each) => each.entity === entity && each.id === id),
      ),
    byLabel: async (entity, label) => [
      ...inWindow(entity, (one) => one.label !== undefined && normalLabel(one.label) === label),
      ...(await view.seen(entity, { label })),
    ],
    listing: async (entity) => {
      const lists = held.map(({ at, seq, seen }) =>
        seen.filter((one) => one.entity === entity).map((one) => ({ ...one, at, seq })),
      )
      return (
        lists.find(({ length }) => length > 1) ??
        (await view.listing(entity)) ??
        lists.find(({ length }) => length === 1) ??
        []
      )
    },
    recent: (entity, most) =>
      [
        ...new Map(
          inWindow(entity, () => true)
            .reverse()
            .map((one) => [one.id, one]),
        ).values(),
      ]
        .reverse()
        .slice(0, most),
    userText: userText(entries, turn),
    asked: (path) => {
      const answer = answers.findLast(({ from, name }) => from === GROUNDING && name === path)
      return answer?.value
    },
  }
}

/** All that somebody said in this turn. */
function userText(entries: readonly Entry[], turn: number): string {
  const taken = new Set(
    entries.filter((entry) => entry.turn === turn && isHeard(entry)).flatMap(({ takes = [] }) => takes),
  )
  return entries
    .filter(({ seq, type }) => type === 'input' && taken.has(seq))
    .map((entry) => textOf(dataOf(entry, 'input').message))
    .join('\n')
}

function isHeard({ type, data }: Entry): boolean {
  return type === 'turn.start' || (type === 'take' && (data as EntryData['take']).as === 'message')
}
