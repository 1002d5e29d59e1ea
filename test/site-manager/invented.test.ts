/** Many conversations at random: no call ever has an id that nobody has shown, chosen or written. */
import { expect, it } from 'vitest'
import {
  type Entry,
  type EntryData,
  type JsonObject,
  LOCAL_OWNER,
  normalLabel,
} from '../../src/protocol/index.ts'
import { Random } from '../reflex/random.ts'
import { Site } from './kit.ts'

const NAMES = [
  'Champigny',
  'Bureau',
  'Levallois',
  'Les Tilleuls',
  'Marseille',
  'Champiny',
  'prj-x8c4',
  'prj-0000',
]
const TASKS = ['Peinture', 'Installation', 'Cloisons', 'Toiture', 'Pose des fenêtres', 'tsk-9999']
const PLACES = ['1', '2', '3', '7']
const PHRASES: readonly ((name: string, task: string, place: string) => string)[] = [
  () => 'List the projects',
  () => 'Affiche les projets',
  (name) => `Select project ${name}`,
  (name) => `Choisis le projet ${name}`,
  (name) => `Show tasks for ${name}`,
  (name) => `Quelles tâches pour ${name} ?`,
  (_, __, place) => `Show tasks for project ${place}`,
  (_, __, place) => `Affiche les tâches des projets 1 et ${place}`,
  () => 'Show me the tasks',
  () => 'Affiche les documents',
  (_, task) => `Select task ${task}`,
  (_, task) => `Marque la tâche ${task} comme terminée`,
  (_, __, place) => `Mark task ${place} as open`,
  () => 'Mark it as done',
  (_, __, place) => place,
  () => 'the second one',
  (name) => name,
]

/** The marked ids of all calls that the model asked for, each with what it may be: shown, chosen or said before. */
function inventedIn(entries: readonly Entry[]): readonly string[] {
  const known = new Set<string>()
  let said = ''
  return entries.flatMap(({ type, data }) => {
    if (type === 'input') said = JSON.stringify((data as EntryData['input']).message)
    if (type === 'active') for (const { id } of (data as EntryData['active']).values) known.add(id)
    if (type === 'tool.end') for (const { id } of (data as EntryData['tool.end']).seen ?? []) known.add(id)
    if (type !== 'model.end') return []
    const words = new Set(normalLabel(said.replace('second', 'second 2')).split(' '))
    const isSaid = (text: string): boolean =>
      normalLabel(text)
        .split(' ')
        .every((word) => words.has(word) || word === 'and')
    return (data as EntryData['model.end']).content.flatMap((part) => {
      const { projectId, taskId } = (part.type === 'tool-call' ? part.args : {}) as JsonObject
      return [projectId, taskId]
        .filter((id) => typeof id === 'string' && !known.has(id) && !isSaid(id))
        .map(String)
    })
  })
}

it('invents no id in 9 conversations of 12 messages, and every turn comes to an end', async () => {
  const random = new Random(7)
  const reasons = new Set<string>()
  let calls = 0
  for (let conversation = 0; conversation < 9; conversation++) {
    const site = new Site()
    const talk = site.talk()
    for (let message = 0; message < 12; message++) {
      const text = random.pick(PHRASES)(random.pick(NAMES), random.pick(TASKS), random.pick(PLACES))
      const { reason } = await talk.agent.executeTurn(text).outcome
      reasons.add(reason)
    }
    const entries = await site.store.read({ ...LOCAL_OWNER, contextId: 'talk' })
    calls += entries.filter(({ type }) => type === 'tool.start').length
    expect(inventedIn(entries)).toEqual([])
  }
  expect([...reasons].toSorted()).toEqual(['input-required', 'stop'])
  expect(calls).toBeGreaterThan(60)
})
