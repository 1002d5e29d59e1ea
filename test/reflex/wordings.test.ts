/** The built-in model on wordings that were written down; `npm run reflex` plays them all and prints the figures. */
import { describe, expect, it } from 'vitest'
import type { Judged } from './trial.ts'
import { playWording, readWordings, WORDING_FILES } from './wordings/play.ts'

/**
 * Shares of wrong and of missed wordings. The aim for every file is 0.005 and 0.05, which `npm run reflex` asks for; on
 * wordings that the rules were not written with it is not reached, and must not get worse than measured.
 */
const MOST = {
  known: { wrong: 0.005, missed: 0.02 },
  practice: { wrong: 0.005, missed: 0.05 },
  development: { wrong: 0.03, missed: 0.12 },
  validation: { wrong: 0.005, missed: 0.2 },
  fresh: { wrong: 0.014, missed: 0.29 },
  sealed: { wrong: 0.028, missed: 0.49 },
  'held-out': { wrong: 0.013, missed: 0.17 },
} as const

/** One wording of so many is played; all of those that the rules were not written with. */
const STEP = {
  known: 30,
  practice: 30,
  development: 30,
  validation: 9,
  fresh: 1,
  sealed: 1,
  'held-out': 1,
} as const

describe.each(WORDING_FILES)('%s wordings', (file) => {
  it('invent no id, and are wrong or missed in no more than their share', async () => {
    const judged: Judged[] = []
    const wordings = readWordings(file).filter((_, at) => at % STEP[file] === 0)
    for (const wording of wordings) judged.push(await playWording(wording))
    const share = (keep: (each: Judged) => boolean): number => judged.filter(keep).length / judged.length
    expect(judged.flatMap(({ invented }) => invented)).toEqual([])
    expect(share(({ verdict }) => verdict === 'wrong')).toBeLessThanOrEqual(MOST[file].wrong)
    expect(share(({ verdict }) => verdict !== 'right')).toBeLessThanOrEqual(MOST[file].missed)
  })
})
