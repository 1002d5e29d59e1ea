/** Random edits by replace_in_file end as the guide says. `HOLDFAST_RUNS` sets the number of edits. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, property, sample } from 'fast-check'
import { expect, it } from 'vitest'
import { box } from './kit.ts'
import { edits } from './random-edits.ts'
import { referenceReplace, replaced } from './replace-reference.ts'

const RUNS = Number(process.env['HOLDFAST_RUNS'] ?? 1000)

it('random edits equal those of a second implementation', () => {
  const counts = { applied: 0, refused: 0 }
  assert(
    property(edits, ({ file, diff }) => {
      const expected = referenceReplace(file, diff)
      counts[expected === undefined ? 'refused' : 'applied'] += 1
      expect(replaced(file, diff)).toBe(expected)
    }),
    { numRuns: RUNS },
  )
  expect(Math.min(counts.applied, counts.refused)).toBeGreaterThan(RUNS / 10)
})

it('the tool writes what they say, or nothing', async () => {
  const { root, call } = await box()
  const path = join(root, 'f')
  for (const { file, diff } of sample(edits, 40)) {
    writeFileSync(path, file)
    await call('read_file', { path: 'f' })
    const result = await call('replace_in_file', { path: 'f', diff })
    const expected = referenceReplace(file, diff)
    expect([diff, readFileSync(path, 'utf8')]).toEqual([diff, expected ?? file])
    expect(result.startsWith('ok: ')).toBe(expected !== undefined)
  }
})
