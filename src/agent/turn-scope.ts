/** Extends a driver's loop scope for an agent: sightings and the person's state. */
import { approvalsAround, idsAround, type JournalState } from '../drive/index.ts'
import type { LoopScope } from '../loop/index.ts'
import type { TurnScope } from '../turn/index.ts'
import { actorState } from './actor-state.ts'
import { personGrants } from './grants.ts'
import { journalSightings } from './sightings.ts'

type OwnScope = Pick<TurnScope, 'agent' | 'definition' | 'metadata' | 'extras' | 'schemaNamed'>

/** Makes the scopes of a conversation's turns. Its own parts are made once: they last as long as the conversation. */
export function turnScopes(own: OwnScope): (scope: LoopScope, journal: JournalState) => TurnScope {
  const { agent, definition, metadata, extras, schemaNamed } = own
  let lasting: Pick<TurnScope, 'sightings' | 'actor' | 'grants'> | undefined
  return (scope, journal) => {
    const { store } = journal
    lasting ??= {
      sightings: journalSightings(store, scope.key, () => journal.session.cleared ?? 0),
      actor: (principal) => actorState(store, principal),
      grants: (principal) => personGrants(store, principal),
    }
    const { sightings, actor, grants } = lasting
    return {
      ...scope,
      agent,
      definition,
      metadata,
      extras,
      schemaNamed,
      sightings,
      actor,
      grants,
      above: idsAround(),
      approvalsAbove: approvalsAround(),
    }
  }
}
