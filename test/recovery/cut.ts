/** Plays a conversation with a death in it, lets others bring it to its end, and says what is wrong with the result. */
import { transcript } from '../../src/journal/index.ts'
import { LOCAL_OWNER, type ReplayClass } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import {
  hanging,
  headProblem,
  type Journals,
  problemsOf,
  readJournals,
  told,
  unknownProblems,
} from './checks.ts'
import { type Death, livenessOf, type Mortal } from './mortal.ts'
import { type Process, type Script, World } from './world.ts'

/** Where stores come from; each play has an owner, and each process a connection, of its own. */
export type Bench = (judge: { world: () => World }) => { open: (process: string) => Store; actor?: string }

const memoryBench: Bench = ({ world }) => {
  const liveness = (driver: string) => livenessOf(world().mortals)(driver)
  const store = memoryStore({ clock: { now: () => world().clock.now(), elapsed: () => 0 }, liveness })
  return { open: () => store }
}

export interface Result {
  readonly journals: Journals
  readonly text: string
  /** For each process, how much it did. */
  readonly counts: readonly Mortal['counts'][]
  readonly problems: readonly string[]
}

/** As many processes as there are deaths, each with its own, and one more. */
export async function playOut(
  play: Script,
  deaths: readonly Death[],
  bench: Bench = memoryBench,
): Promise<Result> {
  const { open, actor = LOCAL_OWNER.actor } = bench({ world: () => world })
  const world: World = new World(open, { ...LOCAL_OWNER, actor })
  const store = open('onlooker')
  const unsettled = new Map<string, ReplayClass>()
  const problems: string[] = []
  let last: Process | undefined
  for (const death of [...deaths, undefined]) {
    last = world.process(play, death)
    if ((await last.run()) === 'ended') break
    for (const [callId, replay] of hanging(await readJournals(store, world.owner)))
      unsettled.set(callId, replay)
  }
  const journals = await readJournals(store, world.owner)
  problems.push(...problemsOf(journals, world.effects), ...unknownProblems(journals, unsettled))
  for (const contextId of Object.keys(journals)) {
    const problem = await headProblem(store, { ...world.owner, contextId })
    if (problem !== undefined) problems.push(`${contextId}: ${problem}`)
  }
  const text = await textOf(journals, last as Process)
  world.end()
  return { journals, text, counts: world.mortals.map(({ counts }) => counts), problems }
}

/** The conversation, then those of its sub-agents, oldest first; what a model sees of it; the file that was written. */
async function textOf(journals: Journals, { agent }: Process): Promise<string> {
  const parts = Object.values(journals).map((entries) => told(transcript(entries)))
  parts.push(told(await agent.getMessages()))
  for (const { artifactId, kind } of await agent.getArtifacts())
    if (kind === 'file') parts.push(JSON.stringify((await agent.artifacts.read(artifactId)).content))
  return parts.join('\n---\n')
}

/** Every point at which a process can die: the first one, unless said otherwise. */
export function deathsOf({ counts }: Result, process = 0): Death[] {
  const of = (what: Death['of']) =>
    Array.from({ length: counts[process]?.[what] ?? 0 }, (_, index) => index + 1).flatMap((at): Death[] => [
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
