/** Calls and results of long histories are paired at a cost that grows with their number, not with its square. */
import { expect, it } from 'vitest'
import type { HistoryItem } from './foreign.ts'
import { pairUp } from './pair.ts'

const many = 500

function callItem(at: number): HistoryItem {
  return { kind: 'assistant', at, parts: [{ type: 'tool-call', tool: 'search', args: { at } }] }
}

function resultItem(at: number, output: number): HistoryItem {
  return { kind: 'results', at, results: [{ tool: 'search', status: 'ok', output }] }
}

it('calls of one name get their own results, round after round', () => {
  const items = Array.from({ length: many }, (_, n) => [callItem(2 * n), resultItem(2 * n + 1, n)]).flat()
  const notes: unknown[] = []
  const paired = pairUp(items, (...note) => notes.push(note))
  expect(paired.map(({ result }) => result?.output)).toEqual(Array.from({ length: many }, (_, n) => n))
  expect(notes).toEqual([])
})

it('a history is read a few times, however far its results are from their calls', () => {
  const calls = Array.from({ length: many }, (_, n) => callItem(n))
  const results = Array.from({ length: many }, (_, n) => resultItem(many + n, n))
  let reads = 0
  const items = new Proxy([...calls, ...results], {
    get: (list, name) => {
      reads += 1
      return Reflect.get(list, name) as unknown
    },
  })
  const paired = pairUp(items, () => {})
  expect(paired.map(({ result }) => result?.output)).toEqual(Array.from({ length: many }, (_, n) => n))
  expect(reads).toBeLessThan(20 * items.length)
})
