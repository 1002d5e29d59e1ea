/** A building firm for tests: projects with tasks, facts about them, and calls to be judged. */
import {
  type Entities,
  type Entity,
  entity,
  entityMap,
  type Judgement,
  judgeCall,
  MemoryFacts,
  type MemoryFactsOptions,
} from '../../src/grounding/index.ts'
import type { ActiveValue, Json, JsonObject, Sighting } from '../../src/protocol/index.ts'

export const HOUR = 3_600_000
export const NOW = 1_800_000_000_000

export const project: Entity = entity('project', {
  pattern: /[a-z]{3}-\d{3}|\d{1,4}/,
  called: { fr: { one: 'projet', active: 'Projet actif' } },
})
export const task: Entity = entity('task', {
  parent: project,
  pattern: /def-\d{3}/,
  called: { fr: { one: 'tâche', active: 'Tâche active' } },
})
export const entities: Entities = entityMap([project, task])

export const champigny: Sighting = { entity: 'project', id: 'abc-123', label: 'Champigny' }
export const bureau: Sighting = { entity: 'project', id: 'abc-456', label: 'Bureau' }
export const ecole: Sighting = { entity: 'project', id: 'abc-789', label: 'École Nord' }
export const wiring: Sighting = {
  entity: 'task',
  id: 'def-456',
  label: 'Installation électrique',
  parent: 'abc-123',
}

export function active(sighting: Sighting, agoMs = 0): ActiveValue {
  return { ...sighting, at: NOW - agoMs, origin: { contextId: 'earlier', seq: 3 } }
}

/** One result that showed these, some time ago. */
export function shown(
  seen: readonly Sighting[],
  agoMs = 60_000,
  seq = 10,
): NonNullable<MemoryFactsOptions['batches']>[number] {
  return { at: NOW - agoMs, seq, seen }
}

export const ONE_PROJECT: JsonObject = {
  type: 'object',
  properties: { projectId: { type: 'string', ...project.id() } },
}

export async function judged(
  given: Json,
  facts: MemoryFactsOptions,
  { parameters = ONE_PROJECT, now = NOW }: { readonly parameters?: JsonObject; readonly now?: number } = {},
): Promise<Judgement> {
  const args = parameters === ONE_PROJECT ? { projectId: given } : given
  return judgeCall(
    { parameters, args },
    { entities, facts: new MemoryFacts(facts), now, lookups: () => ({ project: 'find_project' }) },
  )
}

/** A judgement in one line, for tables of cases. */
export function brief(judgement: Judgement): string {
  if (judgement.kind === 'ok')
    return judgement.grounds.map(({ id, source }) => `${source} ${id}`).join(', ') || 'ok'
  if (judgement.kind === 'ask')
    return judgement.asks
      .map(({ why, options }) => `ask ${why} ${options.map(({ id }) => id).join(' ')}`)
      .join(', ')
  return judgement.refusals.map(({ reason }) => `refused ${reason}`).join(', ')
}
