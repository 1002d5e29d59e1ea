/** The built-in model on wordings that were written down; `npm run reflex` prints the figures by set and language. */
import { describe, expect, it } from 'vitest'
import type { Judged } from './trial.ts'
import { playWording, readWordings, WORDING_FILES } from './wordings/play.ts'

describe.each(WORDING_FILES)('%s wordings', (file) => {
  const wordings = readWordings(file)

  it.runIf(wordings.length > 0)(
    'are right in 95 %, wrong in half a percent at most, and invent no id',
    async () => {
      const judged: Judged[] = []
      for (const wording of wordings) judged.push(await playWording(wording))
      const stories = (keep: (each: Judged) => boolean): string[] =>
        judged.filter(keep).map(({ story }) => story)
      expect(stories(({ invented }) => invented.length > 0)).toEqual([])
      const wrong = stories(({ verdict }) => verdict === 'wrong')
      expect(wrong.slice(Math.floor(0.005 * judged.length))).toEqual([])
      const missed = stories(({ verdict }) => verdict !== 'right')
      expect(missed.slice(Math.floor(0.05 * judged.length))).toEqual([])
    },
  )
})
