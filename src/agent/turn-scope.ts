/** Extends a driver's loop scope for an agent: sightings, the person's state, and the messages of a graph's state. */
import { chain } from '../base/index.ts'
import { approvalsAround, idsAround, type JournalState } from '../drive/index.ts'
import { transcript } from '../journal/index.ts'
import type { JournalView, LoopScope } from '../loop/index.ts'
import { PromptLines } from '../model/index.ts'
import type { Entry, Message } from '../protocol/index.ts'
import type { NodeTurn, TurnDefinition, TurnScope } from '../turn/index.ts'
import { actorState } from './actor-state.ts'
import { personGrants } from './grants.ts'
import { journalSightings } from './sightings.ts'

type OwnScope = Pick<TurnScope, 'agent' | 'definition' | 'metadata' | 'extras' | 'schemaNamed'> & {
  readonly artifacts?: LoopScope['artifacts'] | undefined
}

/** Makes the scopes of a conversation's turns. Its own parts are made once: they last as long as the conversation. */
export function turnScopes(own: OwnScope): (scope: LoopScope, journal: JournalState) => TurnScope {
  const { agent, definition, metadata, extras, schemaNamed } = own
  let lasting: Pick<TurnScope, 'sightings' | 'actor' | 'grants' | 'promptLines'> | undefined
  return (scope, journal) => {
    const { store } = journal
    lasting ??= {
      sightings: journalSightings(store, scope.key, () => journal.session.cleared ?? 0),
      actor: (principal) => actorState(store, principal),
      grants: (principal) => personGrants(store, principal),
      promptLines: new PromptLines(),
    }
    const { sightings, actor, grants, promptLines } = lasting
    const { view, artifacts } = scope
    return {
      ...scope,
      view: definition.nodeTurn === undefined ? view : viewAfter(definition.nodeTurn, view),
      artifacts: own.artifacts ?? artifacts,
      agent,
      definition,
      metadata,
      extras,
      schemaNamed,
      sightings,
      actor,
      grants,
      promptLines,
      above: idsAround(),
      approvalsAbove: approvalsAround(),
    }
  }
}

/** The view whose messages begin with the history of the node. */
function viewAfter({ kind, history }: NodeTurn, view: JournalView): JournalView {
  // The journal of rounds has earlier ones, too, which are in the history.
  const own = () => (kind === 'round' ? chain(view.turnEntries(), lastRound) : view.messages())
  return {
    get session() {
      return view.session
    },
    get inbox() {
      return view.inbox
    },
    messages: () => chain(own(), (messages) => [...history, ...messages]),
    window: () => view.window(),
    turnEntries: () => view.turnEntries(),
    request: (seq) => view.request(seq),
    askedBy: (seq) => view.askedBy(seq),
  }
}

function lastRound(entries: readonly Entry[]): readonly Message[] {
  const start = entries.findLastIndex(({ type }) => type === 'model.end')
  return start < 0 ? [] : transcript(entries.slice(start))
}

/** The definition, with a reader of each system prompt that a turn is given. */
export function withSystemRead(
  definition: TurnDefinition,
  read: (system: string | undefined) => void,
): TurnDefinition {
  const system: TurnDefinition['system'] = (turn) =>
    chain(definition.system(turn), (text) => {
      read(text)
      return text
    })
  return { ...definition, system }
}
