/** What a program chooses for a conversation or its person, outside of any tool. */
import type { Driver } from '../drive/index.ts'
import {
  checkedThing,
  isPersonal,
  newlyChosen,
  personal,
  unexpired,
  withPersonal,
  withSelections,
} from '../grounding/index.ts'
import type { ActiveValue, Principal, Selection } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { actorState } from './actor-state.ts'
import type { AgentSetup } from './config.ts'

export interface Choosing {
  readonly driver: Driver
  readonly store: Store
  readonly setup: AgentSetup
  readonly principal: Principal
}

export async function select(
  { driver, store, setup, principal }: Choosing,
  selections: readonly Selection[],
): Promise<void> {
  const { entities } = setup.definition.grounding
  const { active = [], origin } = driver.ledger.session
  const at = setup.clock.now()
  const checked = selections.map(checkedThing)
  const change = (values: readonly ActiveValue[]) =>
    withSelections(values, checked, { entities, at, by: 'program' })
  const own = change(active)
  const isTheirs =
    origin === undefined && selections.some((one) => entities.get(one.entity)?.scope === 'actor')
  const theirs = isTheirs
    ? await actorState(store, principal).change('select', (values) => personal(change(values), entities))
    : personal(own, entities)
  const values = [...theirs, ...own.filter((value) => !isPersonal(value, entities))]
  const chosen = newlyChosen(active, checked, 'program')
  const fresh = chosen.length === 0 ? {} : { chosen }
  await driver.record([{ type: 'active', data: { values, by: 'select', ...fresh } }])
}

/** The active values of a conversation together with those of its person, as a turn that starts now would find them. */
export interface ActiveAtStart {
  readonly values: readonly ActiveValue[]
  /** Where the conversation stood: once it has gone on, its own journal says what is active. */
  readonly turn: number
  readonly before: string
}

/** Undefined if no entity is the person's, for a fork, which goes its own way, and while a turn is open: that looks itself. */
export async function activeAtStart({
  driver,
  store,
  setup,
  principal,
}: Choosing): Promise<ActiveAtStart | undefined> {
  const { entities } = setup.definition.grounding
  const { active = [], origin, turn, open } = driver.ledger.session
  const hasPersonal = [...entities.values()].some(({ scope }) => scope === 'actor')
  if (!hasPersonal || origin !== undefined || open !== undefined) return undefined
  const persons = await actorState(store, principal).read()
  return { values: withPersonal(active, persons, entities), turn, before: JSON.stringify(active) }
}

/** The active values that have not expired. */
export function activeNow(
  driver: Driver,
  { definition, clock }: AgentSetup,
  atStart?: ActiveAtStart,
): readonly ActiveValue[] {
  const { active = [], turn } = driver.ledger.session
  const isUnchanged = atStart?.turn === turn && atStart.before === JSON.stringify(active)
  return unexpired(isUnchanged ? atStart.values : active, definition.grounding.entities, clock.now())
}
