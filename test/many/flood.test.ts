/** Processes flood one conversation with good and bad messages; `npm run flood` is the long run (R2, R5, R14). */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { runFlood } from './flood.ts'

let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-flood-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

it('each good message is heard once, each bad one is refused alone, and what was told is what is stored', {
  timeout: 120_000,
}, async () => {
  const report = await runFlood({
    folder,
    processes: 3,
    messages: 120,
    kills: 1,
    killEveryMs: 1000,
    patienceMs: 60_000,
  })
  expect(report.problems).toEqual([])
  expect(report.counts).toMatchObject({ 'good: stop': expect.any(Number), 'reused: key-reused': 3 })
})
