/** Selections that a program makes for a conversation or its person, outside of any tool. */
import { type Driver, idsAround } from '../drive/index.ts'
import {
  checkedThing,
  type Entities,
  isPersonal,
  judgeBelow,
  MemoryFacts,
  newlyChosen,
  personal,
  strictest,
  unexpired,
  withPersonal,
  withSelections,
} from '../grounding/index.ts'
import {
  type ActiveValue,
  type ChosenBy,
  HoldfastError,
  type Principal,
  quote,
  type Selection,
} from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { inputOrigin } from '../tool/index.ts'
import { actorState } from './actor-state.ts'
import type { AgentSetup } from './config.ts'
import { journalSightings } from './sightings.ts'

export interface SelectionScope {
  readonly driver: Driver
  readonly store: Store
  readonly setup: AgentSetup
  readonly principal: Principal
}

/**
 * Selects active values. Inside the code of a call, a selection counts as the tool's: its id may come from the model,
 * so it must be grounded in this conversation or in that of the call. Throws `invalid-option` if it is not, and for an
 * unknown entity or an id that does not fit its pattern.
 */
export async function select(
  { driver, store, setup, principal }: SelectionScope,
  selections: readonly Selection[],
): Promise<void> {
  const { entities } = setup.definition.grounding
  const { active = [], origin } = driver.journal.session
  const at = setup.clock.now()
  const isInsideCall = inputOrigin().origin !== undefined
  const by: ChosenBy = isInsideCall ? 'tool' : 'program'
  const checked = selections.map((one): Selection => {
    const selection = checkedSelection(one, entities)
    return isInsideCall ? { ...selection, by } : selection
  })
  for (const selection of checked) await checkKind({ driver, store, setup }, selection)
  if (isInsideCall) for (const selection of checked) await checkGood({ driver, store, setup }, selection)
  const change = (values: readonly ActiveValue[]) => withSelections(values, checked, { entities, at, by })
  const own = change(active)
  const isActorScoped =
    origin === undefined && selections.some((one) => entities.get(one.entity)?.scope === 'actor')
  const actorValues = isActorScoped
    ? await actorState(store, principal).change('select', (values) => personal(change(values), entities))
    : personal(own, entities)
  const values = [...actorValues, ...own.filter((value) => !isPersonal(value, entities))]
  const chosen = newlyChosen(active, checked, by)
  const fresh = chosen.length === 0 ? {} : { chosen }
  await driver.record([{ type: 'active', data: { values, by: 'select', ...fresh } }])
}

function checkedSelection(raw: Selection, entities: Entities): Selection {
  const selection = checkedThing(raw)
  const entity = entities.get(selection.entity)
  if (entity === undefined) {
    const names = [...entities.keys()].map(quote).join(', ')
    throw notSelected(
      `${quote(selection.entity)} is none of the agent's entities${names === '' ? ', which has none' : `: ${names}`}. Add it to \`entities\``,
    )
  }
  const { pattern, normal = (id: string) => id } = entity
  const strange = idsOf(selection).find((id) => pattern?.test(id) === false && !pattern.test(normal(id)))
  if (strange !== undefined)
    throw notSelected(
      `${quote(strange)} does not fit the \`pattern\` of ${quote(entity.name)}, ${String(pattern)}`,
    )
  return selection
}

/** Without a pattern, only sightings reveal that an id belongs to another entity. */
async function checkKind(
  { driver, store, setup }: Omit<SelectionScope, 'principal'>,
  selection: Selection,
): Promise<void> {
  const { entities } = setup.definition.grounding
  if (entities.get(selection.entity)?.pattern !== undefined) return
  const { cleared = 0 } = driver.journal.session
  const sightings = journalSightings(store, setup.key, () => cleared)
  const isShownAs = async (entity: string, id: string) => (await sightings.seen(entity, { id })).length > 0
  for (const id of idsOf(selection)) {
    if (await isShownAs(selection.entity, id)) continue
    for (const other of entities.keys())
      if (other !== selection.entity && (await isShownAs(other, id)))
        throw notSelected(
          `a tool has shown ${quote(id)} as the id of ${quote(other)}, not of ${quote(selection.entity)}. Select it as that, or give the entity a \`pattern\``,
        )
  }
}

async function checkGood(
  { driver, store, setup }: Omit<SelectionScope, 'principal'>,
  { entity, ...selection }: Selection,
): Promise<void> {
  const above = idsAround()
  const entities = await strictest(setup.definition.grounding.entities, above)
  if (entities.get(entity)?.policy !== 'enforce') return
  const { active = [], cleared = 0 } = driver.journal.session
  const sightings = journalSightings(store, setup.key, () => cleared)
  for (const id of idsOf({ entity, ...selection })) {
    const seen = await sightings.seen(entity, { id })
    const facts = new MemoryFacts({
      active,
      batches: seen.map(({ at, ...one }) => ({ at, seen: [{ ...one, entity }] })),
      said: await sightings.said(id),
    })
    const found = { path: [], entities: [entity], given: id, isLiteral: true } as const
    const judging = { entities, facts, now: setup.clock.now() }
    const { kind } = await judgeBelow(found, entity, { judging, above })
    if (kind === 'ok') continue
    throw notSelected(
      `the code of a call selected it, and ${quote(id)} is not grounded: no tool has shown it and no person has written it`,
    )
  }
}

function idsOf({ id, ids = [] }: Selection): readonly string[] {
  return [...new Set([...(id === undefined ? [] : [id]), ...ids])]
}

function notSelected(why: string): HoldfastError {
  return new HoldfastError('invalid-option', { message: `Nothing was selected: ${why}.` })
}

/** The active values of a conversation merged with its person's, as a turn that starts now would see them. */
export interface ActiveAtStart {
  readonly values: readonly ActiveValue[]
  /** The position of the conversation at the time; after it advances, its own journal is authoritative. */
  readonly turn: number
  readonly before: string
}

/** Undefined if no entity has the scope `actor`, for a fork, and while a turn is open (the turn reads them itself). */
export async function activeAtStart({
  driver,
  store,
  setup,
  principal,
}: SelectionScope): Promise<ActiveAtStart | undefined> {
  const { entities } = setup.definition.grounding
  const { active = [], origin, turn, open } = driver.journal.session
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
  const { active = [], turn } = driver.journal.session
  const isUnchanged = atStart?.turn === turn && atStart.before === JSON.stringify(active)
  return unexpired(isUnchanged ? atStart.values : active, definition.grounding.entities, clock.now())
}
