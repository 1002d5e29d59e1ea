/** A few of the credentials of `npm run secrets`, one of each shape; and that the search finds what is there. */
import { expect, it } from 'vitest'
import { search } from './search.ts'
import { generated, SHAPES } from './shapes.ts'
import { runTrial } from './trial.ts'

const SHAPE_COUNT = Object.keys(SHAPES).length

it('of fifteen credentials in fifteen shapes nothing is found anywhere, though a process was killed in mid-tool', async () => {
  expect(SHAPE_COUNT).toBe(15)
  const { found, outcomes, killed } = await runTrial({
    seed: 3,
    credentials: SHAPE_COUNT,
    perProcess: SHAPE_COUNT,
  })
  expect(found).toEqual([])
  expect(outcomes).toEqual({
    'asked: input-required': SHAPE_COUNT,
    'answered: stop': SHAPE_COUNT,
    'taken up: input-required': SHAPE_COUNT,
    'graph: failed': SHAPE_COUNT,
  })
  expect(killed).toBe(1)
}, 120_000)

it('the search finds each of them in each encoding, at every alignment', () => {
  const encodings = [
    (text: string) => text,
    (text: string) => JSON.stringify(JSON.stringify({ text })),
    (text: string) => encodeURIComponent(text),
    (text: string) => new URLSearchParams({ text }).toString(),
    (text: string) => Buffer.from(text).toString('base64'),
    (text: string) => Buffer.from(text).toString('base64url'),
    (text: string) => Buffer.from(text).toString('hex'),
    (text: string) => JSON.stringify(JSON.stringify({ text }).replaceAll('/', '\\/')),
    (text: string) => text.replaceAll('&', '&amp;').replaceAll("'", '&apos;').replaceAll('"', '&quot;'),
  ]
  for (let at = 0; at < SHAPE_COUNT; at++) {
    const one = generated(9, at)
    const places = new Map(
      encodings.flatMap((encode, index) =>
        ['', 'a', 'ab', 'abc'].map(
          (before) => [`${index}-${before}.`, encode(`${before}${one.secret}z`)] as const,
        ),
      ),
    )
    const found = search([one], places)
    for (const place of places.keys()) expect(found.some((each) => each.endsWith(` at ${place}`))).toBe(true)
  }
})
