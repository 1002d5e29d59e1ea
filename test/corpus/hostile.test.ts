/** Hostile documents: the fast ones. `npm run documents` tries all, and many generated ones. */
import { expect, it } from 'vitest'
import { trial } from './hostile-documents.ts'
import { killTrial } from './kill-trial.ts'

it('hostile documents are read or skipped with a reason: no crash, no code, no request', async () => {
  const { outcomes, problems } = await trial({ generated: 6, seed: 7, isFast: true })
  expect(problems).toEqual([])
  expect(Object.keys(outcomes).toSorted()).toEqual([
    'encrypted',
    'malformed',
    'no-text',
    'read',
    'too-complex',
    'too-large',
  ])
})

it('two processes at once, and one after a killed one, make the same index: of whole documents', async () => {
  expect(await killTrial({ kills: 2, seed: 3, documents: 12 })).toMatchObject({
    documents: 12,
    runs: 3,
    problems: [],
  })
})
