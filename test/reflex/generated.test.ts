/** The embedded model on generated tools whose words mean nothing; `npm run reflex` plays more of them. */
import { beforeAll, describe, expect, it } from 'vitest'
import * as phrases from './phrases.ts'
import { type Judged, tally, tryToolSet } from './trial.ts'

const SETS = 10

describe(`${SETS} generated sets of tools`, () => {
  const judged: Judged[] = []
  const ways = Object.values(phrases)

  beforeAll(async () => {
    for (let at = 0; at < SETS; at++) {
      judged.push(...(await tryToolSet(900_000 + at, ways[at % ways.length] ?? phrases.everyday)))
    }
  })

  const stories = (keep: (each: Judged) => boolean): string[] => judged.filter(keep).map(({ story }) => story)

  it('are understood nearly always, and otherwise asked about', () => {
    const all = tally(judged).at(-1)
    expect(all?.count).toBeGreaterThan(200)
    expect(all?.shares.right).toBeGreaterThan(0.95)
  })

  it('are hardly ever misunderstood', () => {
    const wrong = stories(({ verdict }) => verdict === 'wrong')
    expect(wrong.slice(Math.floor(0.02 * judged.length))).toEqual([])
  })

  it('are never called with an id that nobody has given', () => {
    expect(stories(({ invented }) => invented.length > 0)).toEqual([])
  })

  it('are offered whenever a message makes no sense', () => {
    expect(stories(({ kind, verdict }) => kind === 'nonsense' && verdict !== 'right')).toEqual([])
  })

  it('are left alone when no tool does what is asked for', () => {
    expect(stories(({ kind, verdict }) => kind === 'absent' && verdict !== 'right')).toEqual([])
  })
})
