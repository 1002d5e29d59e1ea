/** The table of outcomes and states in the guide is the one of the code. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Entry, EntryData, OutcomeReason } from '../../../src/protocol/index.ts'
import { endedState, STATE } from '../../../src/serve/a2a/outcome-state.ts'
import { TaskFold } from '../../../src/serve/a2a/task-fold.ts'

const guide = readFileSync(join(import.meta.dirname, '../../../docs/guide/a2a.md'), 'utf8')
const table = guide.slice(guide.indexOf('| outcome of the turn |')).split('\n\n')[0] ?? ''
const rows = table
  .split('\n')
  .slice(2)
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, outcome = '', state = '', metadata = '']) => ({ outcome, state, metadata }))

/** Every outcome of a turn, with all that its end may have. */
const OUTCOMES: Readonly<Record<OutcomeReason, Partial<EntryData['turn.end']>>> = {
  stop: {},
  'max-iterations': { limit: 'iterations', maximum: 2 },
  limit: { limit: 'tokens', maximum: 100 },
  'input-required': {},
  'auth-required': {},
  failed: { error: { code: 'x', message: 'y', internal: 'z' } },
  cancelled: {},
}

test.each(Object.entries(OUTCOMES))('%s', (outcome, end) => {
  const row = rows.find((each) => each.outcome.startsWith(`\`${outcome}\``))
  const { state, metadata } = endedState({ outcome, ...end } as EntryData['turn.end'])
  expect(state).toBe(row?.state)
  const fields = [...(row?.metadata.replace(/\{.*?\}/, '').matchAll(/(\w+)(?:: '(\w+)')?/g) ?? [])]
  expect(Object.keys(metadata)).toEqual(fields.map(([, field]) => field))
  expect(metadata['reason']).toBe(fields[0]?.[2])
  expect(JSON.stringify(metadata)).not.toContain('internal')
})

test('every state is in the table', () => {
  expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(Object.keys(STATE)))
})

test('a message that no turn can use is rejected, with the reason', () => {
  const fold = new TaskFold({ contextId: 'c', seq: 1 })
  const entry = (more: object): Entry => ({ turn: 0, at: 1, v: 1, data: {}, ...more }) as unknown as Entry
  fold.add(entry({ seq: 1, type: 'input', key: 'k', data: { message: 'Hi' } }))
  expect(fold.state).toBe('submitted')
  fold.add(entry({ seq: 2, type: 'take', takes: [1], data: { as: 'nothing', reason: 'It is empty.' } }))
  expect([fold.state, fold.metadata]).toEqual(['rejected', { reason: 'rejected' }])
  expect(fold.statusMessage?.parts[0]?.content?.value).toBe('It is empty.')
})
