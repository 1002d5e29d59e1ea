/** Plays a conversation with a death in it, lets others bring it to its end, and says what is wrong with the result. */
import { transcript } from '../../src/journal/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { hanging, headProblem, type Journals, problemsOf, readJournals, told } from './checks.ts'
import { type Death, livenessOf, type Mortal } from './mortal.ts'
import { type Play, World } from './world.ts'

/** Where stores come from; each play has an owner, and each process a connection, of its own. */
export type Bench = (judge: { world: () => World }) => { open: (process: string) => Store; actor?: string }

export const memoryBench: Bench = ({ world }) => {
  const liveness = (driver: string) => livenessOf(world().mortals)(driver)
  const store = memoryStore({ clock: { now: () => world().clock.now(), elapsed: () => 0 }, liveness })
  return { open: () => store }
}

export interface Result {
  readonly journals: Journals
  readonly text: string
  /** Counts of the first process. */
  readonly counts: Mortal['counts']
  readonly problems: readonly string[]
}

/** As many processes as there are deaths, each with its own, and one more. */
export async function playOut(play: Play, deaths: readonly Death[], bench: Bench = memoryBench): Promise<Result> {
  let world: World | undefined
  const { open, actor = LOCAL_OWNER.actor } = bench({ world: () => world as World })
  world = new World(open, { ...LOCAL_OWNER, actor })
  const store = open('onlooker')
  const unsettled = new Set<string>()
  const problems: string[] = []
  for (const death of [...deaths, undefined]) {
    const process = world.process(play, death)
    const how = await process.run()
    if (death === undefined && how === 'died') problems.push('the last process died')
    if (how === 'ended') break
    for (const [callId] of hanging(await readJournals(store, world.owner))) unsettled.add(callId)
  }
  const journals = await readJournals(store, world.owner)
  problems.push(...problemsOf(journals, world.effects), ...unknownOnes(journals, unsettled))
  for (const contextId of Object.keys(journals)) {
    const problem = await headProblem(store, { ...world.owner, contextId })
    if (problem !== undefined) problems.push(`${contextId}: ${problem}`)
  }
  const counts = world.mortals[0]?.counts ?? { append: 0, effect: 0 }
  return { journals, text: textOf(journals), counts, problems }
}

/** "Unknown" can only arise between a start and its settlement (R3). */
function* unknownOnes(journals: Journals, unsettled: ReadonlySet<string>): Generator<string> {
  for (const { type, data } of Object.values(journals).flat())
    if (type === 'tool.end' && data['status'] === 'unknown' && !unsettled.has(data['callId'] as string))
      yield `${data['callId'] as string} is unknown, and was not under way when somebody died`
}

/** The conversation, then those of its sub-agents, oldest first. */
function textOf(journals: Journals): string {
  return Object.values(journals)
    .map((entries) => told(transcript(entries)))
    .join('\n---\n')
}

/** Every point at which the first process can die. */
export function deathsOf({ counts }: Result): Death[] {
  const of = (what: Death['of']) =>
    Array.from({ length: counts[what] }, (_, index) => index + 1).flatMap((at): Death[] => [
      { of: what, at, when: 'before' },
      { of: what, at, when: 'after' },
    ])
  return [...of('append'), ...of('effect')]
}

/** Equal, but for results that read `unknown` here. */
export function sameText(text: string, undisturbed: string): boolean {
  const lines = undisturbed.split('\n')
  const here = text.split('\n')
  return (
    here.length === lines.length &&
    here.every((line, index) => line === lines[index] || /^ {2}\d+: unknown$/.test(line))
  )
}
