/**
 * Kills at random moments: a process plays several conversations at once and is killed from outside, again and again. The
 * next one goes on with those that are not at their end. How long a life can be follows from how much gets done in one, so
 * that slow machines get somewhere and fast ones do not run dry. A seed draws the same conversations and the same shares
 * of the longest life again; where exactly a process is at that moment is up to the machine.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../src/store/index.ts'
import { Random } from '../reflex/random.ts'
import type { Lane, Nest } from './lane.ts'
import { inLanes, type Wholes, withDamage } from './matrix.ts'
import { type Found, Witness } from './trial.ts'

/** More than a process can bring to their ends before it is killed: it begins with the next when one has ended. */
const IN_HAND = 12
/** The longest life after everything was loaded, to begin with, and between which it stays. */
const LONGEST_MS = { first: 60, least: 10, most: 3000 }
/** If more conversations than this come to their ends in one life, lives get shorter; if none does, longer. */
const MANY = 2
/** Then a new file is begun. */
const KILLS_IN_FILE = 40
const SEEDS_APART = 7919

export interface SoakOptions {
  readonly nest: Nest
  readonly lanes: number
  readonly wholes: Wholes
  readonly kills: number
  readonly seed: number
  /** The longest life to begin with; 60 ms if not given. */
  readonly longestMs?: number
  readonly onKill: (hits: number) => void
  readonly onFound: (found: Found) => void
}

interface Playing {
  readonly conversation: string
  readonly actor: string
  readonly witness: Witness
}

export async function soak(options: SoakOptions): Promise<void> {
  let left = options.kills
  let files = 0
  await inLanes(options.lanes, async () => {
    while (left > 0) {
      const kills = Math.min(left, KILLS_IN_FILE)
      left -= kills
      files += 1
      await soakFile({ ...options, kills, seed: options.seed + files * SEEDS_APART })
    }
  })
}

async function soakFile(options: SoakOptions): Promise<void> {
  const { nest, wholes, kills, seed, onKill, onFound, longestMs = LONGEST_MS.first } = options
  const lane = nest.lane()
  // One for each, so that what is drawn does not depend on how far somebody comes.
  const [choice, moment] = [new Random(seed), new Random(seed + 1)]
  const names = [...wholes.keys()]
  let playing: Playing[] = []
  let begun = 0
  let longest = longestMs
  const found: Found[] = []
  for (let kill = 1; kill <= kills; kill++) {
    while (playing.length < IN_HAND) {
      const casting = { conversation: choice.pick(names), actor: `soak-${++begun}` }
      playing.push({ ...casting, witness: new Witness(lane, casting) })
    }
    await strike(lane, playing, moment.next() * longest)
    const { true: ended = [], false: cutOff = [] } = Object.groupBy(playing, (one) => `${isEnded(one)}`)
    await lane.look(async (store) => {
      onKill(await lookAt(store, cutOff.filter(isBegun)))
      for (const one of ended) found.push(await judged(store, one, wholes))
    })
    playing = cutOff
    longest = adapted(longest, ended.length)
  }
  for (const one of playing.filter(isBegun)) {
    await lane.play({ conversation: one.conversation, actor: one.actor })
    found.push(await lane.look((store) => judged(store, one, wholes)))
  }
  const damage = await lane.close()
  for (const [index, one] of found.entries()) onFound(index === 0 ? withDamage(one, damage) : one)
}

function adapted(longest: number, ended: number): number {
  const wanted = ended === 0 ? longest * 1.3 : ended > MANY ? longest * 0.8 : longest
  return Math.min(Math.max(wanted, LONGEST_MS.least), LONGEST_MS.most)
}

function isBegun({ witness }: Playing): boolean {
  return witness.lines.some(({ what }) => what === 'begun')
}

function isEnded({ witness }: Playing): boolean {
  return witness.lines.some(({ what }) => what === 'ended')
}

/** Lets a process begin with all of them, and kills it so much later. */
async function strike(lane: Lane, playing: readonly Playing[], afterMs: number): Promise<void> {
  const child = await lane.child()
  child.send(playing.map(({ conversation, actor }) => ({ conversation, actor })))
  await child.hear()
  await sleep(afterMs)
  await lane.kill()
}

/** Returns how many turns the kill has cut off. */
async function lookAt(store: Store, cutOff: readonly Playing[]): Promise<number> {
  let hits = 0
  for (const { witness } of cutOff) {
    const before = witness.cut
    await witness.lookAfterKill(store)
    hits += witness.cut - before
  }
  return hits
}

async function judged(store: Store, { conversation, witness }: Playing, wholes: Wholes): Promise<Found> {
  const started = performance.now()
  const verdict = await witness.judge(store, wholes.get(conversation))
  const seconds = (performance.now() - started) / 1000
  return { conversation, killed: witness.killed, verdict, torn: witness.record.torn, seconds }
}
