/** A fast subset of the cases generated from the guide; `npm run grounding` runs many more. */
import { expect, it } from 'vitest'
import { tryFromGuide } from './from-the-guide.ts'

const CASES = 348

it('the runtime does what the guide says in generated conversations', { timeout: 120_000 }, async () => {
  const wrong: string[] = []
  let advised = 0
  let misled = 0
  for (let seed = 1; seed <= CASES; seed++) {
    const trial = await tryFromGuide(seed)
    if (trial.got !== trial.wanted)
      wrong.push(`seed ${seed}, ${trial.way}: wanted ${trial.wanted}, got ${trial.got}\n${trial.story}`)
    if (trial.advised) advised++
    if (trial.misled) misled++
  }
  expect(wrong.join('\n\n')).toBe('')
  expect(advised).toBeGreaterThan(0)
  expect(misled).toBe(0)
})
