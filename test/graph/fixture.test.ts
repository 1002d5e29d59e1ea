/** Graphs stored in the first format of their entries are read as they were meant. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { fold, type GraphPosition } from '../../src/journal/index.ts'
import type { Entry, EntryType } from '../../src/protocol/index.ts'

const log = entriesOf('graph-v1.jsonl')
const positions = Object.entries(
  JSON.parse(readFileSync('test/fixtures/graph-v1.session-5.json', 'utf8')) as Record<string, GraphPosition>,
)
function entriesOf(file: string): Entry[] {
  const lines = readFileSync(`test/fixtures/${file}`, 'utf8').trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as Entry)
}

const TYPES: readonly EntryType[] = ['graph.start', 'graph.step', 'node.end', 'effect.start', 'effect.end']

describe('the run of a graph, of format 1', () => {
  it('holds every type, without gaps', () => {
    const types = new Set(log.map(({ type }) => type))
    expect(TYPES.filter((type) => !types.has(type))).toEqual([])
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1))
  })

  it.each(positions)('stands at entry %s where it stood', (seq, position) => {
    expect(JSON.stringify(fold(log.slice(0, Number(seq))).graph)).toBe(JSON.stringify(position))
  })
})

describe('channels that a deploy has added to an open run, of format 1', () => {
  it('have their values and take updates', () => {
    const { graph } = fold(entriesOf('graph-channels-v1.jsonl'))
    expect([graph?.channels, graph?.state]).toEqual([
      { bed: 'value', litres: 'list', notes: 'list', marks: 'merge', sum: 'reduced' },
      {
        bed: { value: 'east' },
        litres: { chunks: [[3, 4]] },
        notes: { chunks: [['dry', 'wet']] },
        marks: { value: { a: 0, b: 1 } },
        sum: { value: 3 },
      },
    ])
  })
})
