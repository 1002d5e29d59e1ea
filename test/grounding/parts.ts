/**
 * Generated calls about parts of things: two owners with parts, a switch from one to the other, calls with a part alone or
 * with an owner beside it. A table decides the expected result before any text is written.
 */
import { entity, entityMap, judgeCall, MemoryFacts } from '../../src/grounding/index.ts'
import type { Json, JsonObject, Sighting } from '../../src/protocol/index.ts'
import { Random } from '../reflex/random.ts'
import type { JudgedSlot } from './trial.ts'

const project = entity('project', { pattern: /p-\d{3}/ })
const task = entity('task', { parent: project, pattern: /t-\d{3}/ })
const NOW = 1_800_000_000_000
const HOUR = 3_600_000

/** One call. The seed decides everything. */
export async function tryPart(seed: number): Promise<JudgedSlot> {
  const random = new Random(seed)
  const [first, second] = [random.between(100, 499), random.between(500, 999)].map((n) => `p-${n}`) as [
    string,
    string,
  ]
  const part = { entity: 'task', id: `t-${random.between(100, 999)}`, label: 'Zindelmor', parent: first }
  const other: Sighting = { entity: 'task', id: 't-001', label: 'Quassel', parent: first }
  const owners = [first, second].map((id, at) => ({
    entity: 'project',
    id,
    label: ['Varennes', 'Morbihan'][at] ?? '',
  }))
  const chosen = random.pick(['none', 'own', 'other', 'other', 'expired'] as const)
  const beside = random.pick(['none', 'none', 'own', 'other', 'destination'] as const)
  const word = random.pick(['none', 'none', 'id', 'id before', 'id long before', 'owner', 'place'] as const)
  const isShownSince = random.chance(0.2)
  const chosenId = chosen === 'own' ? first : second
  const at = NOW - (chosen === 'expired' ? 8 * HOUR : HOUR)
  const texts = {
    none: 'Go on.',
    'id before': 'Go on.',
    'id long before': 'Go on.',
    id: `Take ${part.id}.`,
    owner: 'The one of Varennes.',
    place: 'The first one.',
  }
  const said =
    word === 'id before'
      ? [{ text: `Take ${part.id}.`, at: NOW - HOUR / 2 }]
      : word === 'id long before'
        ? [{ text: `Take ${part.id}.`, at: NOW - 3 * HOUR }]
        : []
  const facts = new MemoryFacts({
    active:
      chosen === 'none'
        ? []
        : [{ entity: 'project', id: chosenId, at, by: random.pick(['tool', 'program', 'person']) }],
    batches: [
      { at: NOW - 5 * HOUR, seq: 1, seen: owners },
      { at: NOW - 2 * HOUR, seq: 2, seen: [part, other] },
      ...(isShownSince ? [{ at: NOW - HOUR / 2, seq: 3, seen: [part] }] : []),
    ],
    userText: texts[word],
    said,
  })
  const way = random.pick(['id', 'label', 'place'] as const)
  const given = {
    id: part.id,
    label: 'zindelmor',
    place: random.pick(['1', 'the first one', 'the first task']),
  }[way]
  const { parameters, args } = shapeOf(beside, { given, first, second }, random)
  const isContradiction = beside === 'other'
  const isSwitched = chosen === 'other' && beside !== 'own'
  const isSpoken = word === 'id' || word === 'id before' || word === 'owner' || isShownSince
  const isOwnerFree =
    beside === 'none' || chosen === 'none' || chosen === 'expired' || isOwnerChosen(beside, chosen)
  const wanted = isContradiction || (isSwitched && !isSpoken) ? 'refuse' : 'run'
  const judgement = await judgeCall(
    { parameters, args },
    { entities: entityMap([project, task]), facts, now: NOW },
  )
  const refused = judgement.kind === 'refused' ? judgement.refusals.map(({ path }) => path) : []
  const got =
    judgement.kind === 'ask'
      ? 'ask'
      : refused.some((path) => path.endsWith('taskId'))
        ? 'refuse'
        : refused.length > 0
          ? isOwnerFree
            ? 'refuse'
            : 'told'
          : judgement.kind === 'ok' && !judgement.grounds.some(({ id }) => id === part.id)
            ? 'wrong id'
            : 'run'
  const isRight = got === wanted || got === 'told'
  const story = { seed, chosen, beside, word, way, isShownSince, args, judgement }
  return { way: `part by ${way}`, wanted, got, ...(isRight ? {} : { story: JSON.stringify(story) }) }
}

/** The owner beside a part is judged by its own rules: another than the active one may be refused itself. */
function isOwnerChosen(beside: string, chosen: string): boolean {
  return (beside === 'own') === (chosen === 'own')
}

interface Ids {
  readonly given: Json
  readonly first: string
  readonly second: string
}

function shapeOf(
  beside: 'none' | 'own' | 'other' | 'destination',
  { given, first, second }: Ids,
  random: Random,
): { readonly parameters: JsonObject; readonly args: Json } {
  const mark = beside === 'destination' ? project.destination.id() : project.id()
  const properties = { taskId: { type: 'string', ...task.id() }, projectId: { type: 'string', ...mark } }
  const owner = beside === 'none' ? {} : { projectId: beside === 'own' ? first : second }
  const row: JsonObject = { type: 'object', properties }
  const args = random.chance(0.5) ? { ...owner, taskId: given } : { taskId: given, ...owner }
  if (random.chance(0.4)) return { parameters: row, args }
  if (random.chance(0.5))
    return {
      parameters: { type: 'object', properties: { items: { type: 'array', items: row } } },
      args: { items: [args] },
    }
  return {
    parameters: {
      type: 'object',
      properties: { projectId: properties.projectId, of: { type: 'object', properties } },
    },
    args: { ...owner, of: { taskId: given } },
  }
}
