/** The rest of a turn's limits, for the agents and graphs that it runs. */
import { expect, it } from 'vitest'
import { limitsLeft } from '../../src/drive/child-scope.ts'
import { fold } from '../../src/journal/index.ts'
import { type NewEntry, stampEntry } from '../../src/protocol/index.ts'

it('a stored limit that is no number limits nothing', () => {
  const principal = { tenant: 'local', actor: 'alice' }
  const limits = { durationMs: null, tokens: null, toolCalls: 4 }
  const start: NewEntry = { type: 'turn.start', turn: 1, data: { principal, limits } }
  const session = fold([stampEntry(start, { seq: 1, at: 1000 })])
  expect(limitsLeft(session, {}, 5000)).toEqual({ toolCalls: 4 })
  expect(limitsLeft(session, { durationMs: 10_000 }, 5000)).toEqual({ toolCalls: 4, durationMs: 6000 })
})
