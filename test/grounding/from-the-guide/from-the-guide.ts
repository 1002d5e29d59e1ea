/**
 * Conversations generated from the sentences of docs/guide/grounding.md alone, each ending in one call that must run, be
 * refused or be asked about. Knows nothing of the guard's implementation.
 */
import { BELOW } from './below.ts'
import { Dice } from './dice.ts'
import { MARKS } from './marks.ts'
import { PARTS } from './parts.ts'
import { PLACES } from './positions.ts'
import { SCHEMAS } from './schemas.ts'
import { SOURCES } from './sources.ts'
import type { Generator, GuideTrial } from './trial.ts'
import { SAID } from './written.ts'

const GENERATORS: readonly Generator[] = [
  ...SOURCES,
  ...SAID,
  ...PLACES,
  ...PARTS,
  ...SCHEMAS,
  ...MARKS,
  ...BELOW,
]

export type { GuideTrial }

/** Seeds go through the generators in turn. */
export async function tryFromGuide(seed: number): Promise<GuideTrial> {
  const generator = GENERATORS[seed % GENERATORS.length] as Generator
  return generator(new Dice(seed))
}
