/** What a program chooses for a conversation or its person, outside of any tool. */
import type { Driver } from '../drive/index.ts'
import { isPersonal, personal, unexpired, withSelections } from '../grounding/index.ts'
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
  const change = (values: readonly ActiveValue[]) =>
    withSelections(values, selections, { entities, at, by: 'program' })
  const own = change(active)
  const isTheirs =
    origin === undefined && selections.some((one) => entities.get(one.entity)?.scope === 'actor')
  const theirs = isTheirs
    ? await actorState(store, principal).change('select', (values) => personal(change(values), entities))
    : personal(own, entities)
  const values = [...theirs, ...own.filter((value) => !isPersonal(value, entities))]
  await driver.record([{ type: 'active', data: { values, by: 'select' } }])
}

/** What is chosen and has not expired. */
export function activeNow(driver: Driver, { definition, clock }: AgentSetup): readonly ActiveValue[] {
  return unexpired(driver.ledger.session.active ?? [], definition.grounding.entities, clock.now())
}
