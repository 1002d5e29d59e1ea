/** A graph stored in the first format is read as it was meant. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { fold, type GraphPosition } from '../../src/journal/index.ts'
import type { Entry, EntryType } from '../../src/protocol/index.ts'

const log = readFileSync('test/fixtures/graph-v1.jsonl', 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Entry)
const positions = Object.entries(
  JSON.parse(readFileSync('test/fixtures/graph-v1.session-5.json', 'utf8')) as Record<string, GraphPosition>,
)
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
