/** Extends a driver's loop scope for an agent: messages, sightings and the person's state. */
import { idsAround, type JournalState } from '../drive/index.ts'
import type { LoopScope } from '../loop/index.ts'
import type { TurnScope } from '../turn/index.ts'
import { actorState } from './actor-state.ts'
import { journalSightings } from './sightings.ts'

export function turnScope(
  scope: LoopScope,
  journal: JournalState,
  own: Pick<TurnScope, 'definition' | 'metadata' | 'agent' | 'schemaNamed'> & {
    readonly extras: NonNullable<TurnScope['extras']>
  },
): TurnScope {
  const { store } = journal
  return {
    ...scope,
    ...own,
    ...idsAround(),
    actor: (principal) => actorState(store, principal),
    view: {
      get session() {
        return scope.view.session
      },
      get inbox() {
        return scope.view.inbox
      },
      request: (seq) => scope.view.request(seq),
      messages: () => journal.messages(),
      window: () => journal.window(),
      turnEntries: () => journal.turnEntries(),
      ...journalSightings(store, scope.key, () => journal.session.cleared ?? 0),
    },
  }
}
