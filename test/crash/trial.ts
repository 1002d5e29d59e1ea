/** One conversation in a lane, killed at given points, brought to its end, and judged. */
import { LOCAL_OWNER, type Owner, type ReplayClass } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { hangingEffects } from '../graph/recovery-checks.ts'
import { hanging } from '../recovery/checks.ts'
import type { Job } from './child.ts'
import { type Conversation, conversationCalled } from './conversations.ts'
import type { Lane } from './lane.ts'
import { type Line, type Lines, readRecord } from './record.ts'
import type { Counts, Point } from './stage.ts'
import { journalsOf, judge, lostIn, type Verdict } from './verdict.ts'

export type Casting = Omit<Job, 'kill'>

/** How a conversation goes when nobody is killed. */
export interface Undisturbed {
  readonly counts: Counts
  readonly text: string
}

export interface Found {
  readonly conversation: string
  /** The kills that came: a point that is not reached kills nobody. */
  readonly killed: number
  readonly verdict: Verdict
  /** Lines of its record that a kill cut off. */
  readonly torn: number
  readonly seconds: number
}

/** What was seen of a conversation at the moments when its process was killed. */
export class Witness {
  readonly unsettled: Map<string, ReplayClass> = new Map()
  readonly lost: Set<string> = new Set()
  killed = 0
  /** How many turns were open at those moments, those of sub-agents included. */
  cut = 0
  readonly owner: Owner
  readonly #lane: Lane
  readonly #conversation: Conversation

  constructor(lane: Lane, { actor, conversation }: Casting) {
    this.owner = { ...LOCAL_OWNER, actor }
    this.#lane = lane
    this.#conversation = conversationCalled(conversation)
  }

  get record(): Lines {
    return readRecord({ folder: this.#lane.record, actor: this.owner.actor })
  }

  get lines(): readonly Line[] {
    return this.record.lines
  }

  async lookAfterKill(store: Store): Promise<void> {
    this.killed += 1
    const { owner, lines } = this
    const journals = await journalsOf(store, owner)
    for (const [callId, replay] of [...hanging(journals), ...hangingEffects(journals)])
      this.unsettled.set(callId, replay)
    for (const problem of lostIn(journals, lines)) this.lost.add(problem)
    for (const entries of Object.values(journals))
      if (entries.findLast(({ type }) => type.startsWith('turn.'))?.type === 'turn.start') this.cut += 1
  }

  async judge(store: Store, whole?: Undisturbed): Promise<Verdict> {
    const { owner, lines, unsettled } = this
    const compared = whole === undefined ? {} : { whole: whole.text }
    const { repeatable } = this.#conversation
    const found = await judge({ store, owner, lines, unsettled, repeatable, ...compared })
    const lost = [...new Set([...this.lost, ...found.wrongs.lost])]
    const broke = lines.flatMap((line) => (line.what === 'broke' ? [line.why] : []))
    return { ...found, wrongs: { ...found.wrongs, lost, other: [...broke, ...found.wrongs.other] } }
  }
}

export async function undisturbed(lane: Lane, casting: Casting): Promise<Undisturbed> {
  const counts = await lane.play(casting)
  const { text, wrongs } = await lane.look((store) => new Witness(lane, casting).judge(store))
  const problems = Object.values(wrongs).flat()
  if (typeof counts === 'string') problems.unshift(counts)
  if (typeof counts === 'string' || problems.length > 0)
    throw new Error(`${casting.conversation}, undisturbed: ${problems.join('\n')}`)
  return { counts, text }
}

/** As many processes as there are kills, each with its own, and one more. */
export async function killed(
  lane: Lane,
  casting: Casting,
  { kills, whole }: { readonly kills: readonly Point[]; readonly whole: Undisturbed },
): Promise<Found> {
  const started = performance.now()
  const { hasty: _, ...plain } = casting
  const witness = new Witness(lane, casting)
  for (const kill of [...kills, undefined]) {
    const job = witness.killed === 0 ? casting : plain
    if ((await lane.play({ ...job, ...(kill === undefined ? {} : { kill }) })) !== 'killed') break
    await lane.look((store) => witness.lookAfterKill(store))
  }
  const verdict = await lane.look((store) => witness.judge(store, whole))
  const seconds = (performance.now() - started) / 1000
  const { torn } = witness.record
  return { conversation: casting.conversation, killed: witness.killed, verdict, torn, seconds }
}

/** Every point at which a process can be killed. */
export function pointsOf({ counts }: Undisturbed): Point[] {
  const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1)
  return [
    ...numbers(counts.append).flatMap((at): Point[] => [
      { of: 'append', at, when: 'before' },
      { of: 'append', at, when: 'after' },
    ]),
    ...numbers(counts.effect).flatMap((at): Point[] => [
      { of: 'effect', at, when: 'before' },
      { of: 'effect', at, when: 'during' },
      { of: 'effect', at, when: 'after' },
    ]),
  ]
}
