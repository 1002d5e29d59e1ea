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

interface Case {
  readonly conversation: string
  readonly kills: readonly Point[]
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
  const cases = casesOf(options)
  const files = Math.ceil(cases.length / CASES_IN_FILE)
  await inLanes(Math.min(options.lanes, files), async () => {
    while (cases.length > 0) await tryCases(cases.splice(0, CASES_IN_FILE), options)
  })
}

export async function inLanes(count: number, work: (lane: number) => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, lane) => work(lane)))
}

function casesOf({ wholes, pick = (points) => points, pairs }: MatrixOptions): Case[] {
  const single = [...wholes].flatMap(([conversation, whole]) =>
    pick(pointsOf(whole)).map((point) => ({ conversation, kills: [point] })),
  )
  return [...single, ...pairsOf(wholes, pairs)]
}

function pairsOf(wholes: Wholes, pairs: MatrixOptions['pairs']): Case[] {
  const drawn = new Map<string, Case>()
  while (pairs !== undefined && drawn.size < pairs.count) {
    const { random } = pairs
    const [conversation, whole] = random.pick([...wholes])
    const at = random.between(1, MOST_APPENDS)
    const second: Point = { of: 'append', at, when: random.pick(['before', 'after'] as const) }
    const kills = [random.pick(pointsOf(whole)), second]
    drawn.set(JSON.stringify([conversation, kills]), { conversation, kills })
  }
  return [...drawn.values()]
}

async function tryCases(cases: readonly Case[], options: MatrixOptions): Promise<void> {
  const { nest, wholes, onFound, hasty } = options
  const lane = nest.lane()
  const found: Found[] = []
  for (const [index, { conversation, kills }] of cases.entries()) {
    const whole = wholes.get(conversation)
    if (whole === undefined) throw new Error(`Nobody knows how ${conversation} goes.`)
    const casting = { conversation, actor: `case-${index}`, ...(hasty === undefined ? {} : { hasty }) }
    found.push(await killed(lane, casting, { kills, whole }))
  }
  const damage = await lane.close()
  for (const [index, one] of found.entries())
    onFound(index === 0 ? withDamage(one, damage) : one, cases[index]?.kills.length ?? 1)
}

export function withDamage(found: Found, damage: readonly string[]): Found {
  const { verdict } = found
  const other = [...verdict.wrongs.other, ...damage]
  return { ...found, verdict: { ...verdict, wrongs: { ...verdict.wrongs, other } } }
}
