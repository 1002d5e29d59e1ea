/**
 * Recovery at every boundary: each conversation is cut off before and after each of its appends and each of its effects,
 * taken up by another process, and must come out as if nothing had happened, but for what nobody can know (R3, R4, R9).
 * `HOLDFAST_RUNS` in the environment tries all crashes and all pairs of them (`npm run properties`); without it, a part.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { Store } from '../../src/store/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { type Bench, deathsOf, playOut, sameText } from './cut.ts'
import { type Death, livenessOf } from './mortal.ts'
import { PLAYS } from './plays.ts'
import type { Script } from './world.ts'

const isThorough = process.env['HOLDFAST_RUNS'] !== undefined
const points = { one: 0, two: 0, onFile: 0 }

afterAll(() => {
  process.stdout.write(
    `\n${points.one} points of death, ${points.two} pairs of them, ${points.onFile} points on SQLite\n`,
  )
})

/** Everything that is wrong, with the deaths that lead there. */
async function wrongAfter(
  play: Script,
  deaths: readonly Death[],
  { whole, bench }: { readonly whole: string; readonly bench?: Bench },
): Promise<string[]> {
  const { problems, text } = await playOut(play, deaths, bench)
  const when = deaths.map((death) => `${death.when} ${death.of} ${death.at}`).join(', ')
  const told = sameText(text, whole) ? [] : [`it reads:\n${text}\ninstead of:\n${whole}`]
  return [...problems, ...told].map((problem) => `death ${when}: ${problem}`)
}

describe('a conversation whose process dies at any point comes to the same end in another', () => {
  /** Every sixth crash, a different sixth for each conversation: neighbours are much alike. */
  const sixth = (play: Script) => (_: Death, index: number) =>
    isThorough || index % 6 === PLAYS.indexOf(play) % 6
  it.each(PLAYS)('$name', async (play) => {
    const whole = await playOut(play, [])
    expect(whole.problems).toEqual([])
    const wrong: string[] = []
    for (const death of deathsOf(whole).filter(sixth(play))) {
      wrong.push(...(await wrongAfter(play, [death], { whole: whole.text })))
      points.one += 1
    }
    expect(wrong).toEqual([])
  })
})

it('a tool that says that nothing has happened, and is wrong, is noticed', async () => {
  const honest = PLAYS.find(({ name }) => name.includes('whether it has happened')) as Script
  const play: Script = {
    ...honest,
    config: (process) => ({ tools: [process.tool('send', { verify: () => ({ happened: false }) })] }),
  }
  const { problems } = await playOut(play, [{ of: 'effect', at: 1, when: 'after' }])
  expect(problems).toEqual([expect.stringMatching(/^talk: send \S+ ran 2 times$/)])
})

describe('and in a third when the second one dies too', { timeout: isThorough ? 3_600_000 : 600_000 }, () => {
  /** Every n-th of them: neighbours are much alike. */
  const [firsts, seconds] = isThorough ? [1, 1] : [7, 5]
  const nth = (n: number) => (_: Death, index: number) => index % n === n - 1
  const chosen = PLAYS.filter(({ name }) =>
    ['two tools at once', 'approval that is given', 'sub-agent with', 'only when it must'].some((word) =>
      name.includes(word),
    ),
  )
  it.each(chosen)('$name', async (play) => {
    const whole = await playOut(play, [])
    const wrong: string[] = []
    for (const first of deathsOf(whole).filter(nth(firsts)))
      for (const second of deathsOf(await playOut(play, [first]), 1).filter(nth(seconds))) {
        wrong.push(...(await wrongAfter(play, [first, second], { whole: whole.text })))
        points.two += 1
      }
    expect(wrong).toEqual([])
  })
})

describe('the same on SQLite, with a connection for each process', () => {
  const chosen = PLAYS.filter(({ name }) => /at once|approval|artifacts|sub-agent with|compaction/.test(name))
  it.each(chosen)('$name', async (play) => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-recovery-'))
    const stores: Store[] = []
    let runs = 0
    const bench: Bench = ({ world }) => {
      runs += 1
      const open = () => {
        const store = sqliteStore(join(folder, 'store.db'), {
          synchronous: 'NORMAL',
          clock: { now: () => world().clock.now(), elapsed: () => 0 },
          liveness: (driver) => livenessOf(world().mortals)(driver),
        })
        stores.push(store)
        return store
      }
      return { open, actor: `run${runs}` }
    }
    const whole = await playOut(play, [], bench)
    const wrong: string[] = []
    // The deaths between are tried in memory.
    for (const death of deathsOf(whole).filter((_, index) => isThorough || index % 11 === 1)) {
      wrong.push(...(await wrongAfter(play, [death], { whole: whole.text, bench })))
      points.onFile += 1
      for (const store of stores.splice(0)) await store.close()
    }
    rmSync(folder, { recursive: true, force: true })
    expect(wrong).toEqual([])
  })
})
