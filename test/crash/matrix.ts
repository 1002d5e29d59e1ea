/**
 * Every conversation, killed at every point where it can be killed: before and after each append, before, in and after
 * each effect. Another process brings it to its end; in some cases that one is killed, too.
 */
import type { Random } from '../reflex/random.ts'
import type { Nest } from './lane.ts'
import type { Point } from './stage.ts'
import { type Found, killed, pointsOf, type Undisturbed, undisturbed } from './trial.ts'

/** So many cases share a file, and the processes that play them. */
const CASES_IN_FILE = 30
/** How far a second process comes, at the most, before it is killed as well. */
const MOST_APPENDS = 6

export type Wholes = ReadonlyMap<string, Undisturbed>

interface Part {
  readonly conversation: string
  readonly cases: readonly (readonly Point[])[]
}

export interface MatrixOptions {
  readonly nest: Nest
  readonly lanes: number
  readonly wholes: Wholes
  /** Which of the points; all unless said otherwise. */
  readonly pick?: (points: readonly Point[]) => readonly Point[]
  /** So many cases more, in which the second process is killed, too. */
  readonly pairs?: { readonly count: number; readonly random: Random }
  /** With how many kills there were to be. */
  readonly onFound: (found: Found, kills: number) => void
  /** Wrong on purpose: on a store that acknowledges before it writes. */
  readonly hasty?: true
}

/** How each of the conversations goes when nobody is killed. */
export async function playWhole(
  names: readonly string[],
  nest: Nest,
  onPlayed: () => void = () => {},
): Promise<Wholes> {
  const lane = nest.lane()
  const wholes = new Map<string, Undisturbed>()
  for (const [index, conversation] of names.entries()) {
    wholes.set(conversation, await undisturbed(lane, { conversation, actor: `whole-${index}` }))
    onPlayed()
  }
  await lane.close()
  return wholes
}

/** Ends when everything was tried; what was found is told one by one. */
export async function killEverywhere(options: MatrixOptions): Promise<void> {
  const parts = partsOf(options)
  await inLanes(options.lanes, async () => {
    for (let part = parts.shift(); part !== undefined; part = parts.shift()) await tryPart(part, options)
  })
}

export async function inLanes(count: number, work: (lane: number) => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, lane) => work(lane)))
}

function partsOf({ wholes, pick = (points) => points, pairs }: MatrixOptions): Part[] {
  const parts: Part[] = []
  for (const [conversation, whole] of wholes) {
    const cases = pick(pointsOf(whole)).map((point) => [point])
    for (let at = 0; at < cases.length; at += CASES_IN_FILE)
      parts.push({ conversation, cases: cases.slice(at, at + CASES_IN_FILE) })
  }
  for (const [conversation, cases] of Map.groupBy(pairsOf(wholes, pairs), ([name]) => name))
    parts.push({ conversation, cases: cases.map(([, kills]) => kills) })
  return parts
}

function pairsOf(wholes: Wholes, pairs: MatrixOptions['pairs']): (readonly [string, readonly Point[]])[] {
  const drawn = new Map<string, readonly [string, readonly Point[]]>()
  while (pairs !== undefined && drawn.size < pairs.count) {
    const { random } = pairs
    const [name, whole] = random.pick([...wholes])
    const at = random.between(1, MOST_APPENDS)
    const second: Point = { of: 'append', at, when: random.pick(['before', 'after'] as const) }
    const kills = [random.pick(pointsOf(whole)), second]
    drawn.set(JSON.stringify([name, kills]), [name, kills])
  }
  return [...drawn.values()]
}

async function tryPart({ conversation, cases }: Part, options: MatrixOptions): Promise<void> {
  const { nest, wholes, onFound, hasty } = options
  const lane = nest.lane()
  const whole = wholes.get(conversation)
  if (whole === undefined) throw new Error(`Nobody knows how ${conversation} goes.`)
  const found: Found[] = []
  for (const [index, kills] of cases.entries()) {
    const casting = { conversation, actor: `case-${index}`, ...(hasty === undefined ? {} : { hasty }) }
    found.push(await killed(lane, casting, { kills, whole }))
  }
  const damage = await lane.close()
  for (const [index, one] of found.entries())
    onFound(index === 0 ? withDamage(one, damage) : one, cases[index]?.length ?? 1)
}

export function withDamage(found: Found, damage: readonly string[]): Found {
  const { verdict } = found
  const other = [...verdict.wrongs.other, ...damage]
  return { ...found, verdict: { ...verdict, wrongs: { ...verdict.wrongs, other } } }
}
