/** Records of processes that are killed while they write. */
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readLines, readRecord, write } from './record.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-record-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

it('a line that a kill cut off is counted, and the line of the next process stands by itself', () => {
  const place = { folder, actor: 'a' }
  write(place, { what: 'asked' })
  appendFileSync(join(folder, 'a.log'), '\n{"what":"told","event":{"seq":3,"ty')
  write(place, { what: 'begun' })
  write(place, { what: 'ended' })
  expect(readRecord(place)).toEqual({
    lines: [{ what: 'asked' }, { what: 'begun' }, { what: 'ended' }],
    torn: 1,
  })
})

it('a record that nobody has written is empty', () => {
  expect(readLines({ folder, actor: 'nobody' })).toEqual([])
})
