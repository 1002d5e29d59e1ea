/** Several processes have one conversation while they are killed and frozen; `npm run many` is the long run (R1 to R6). */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { PATIENCE_MS } from '../patience.ts'
import { runCrowd } from './crowd.ts'
import { judge } from './verdict.ts'

let folder = ''

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-many-'))
  await sqliteStore(join(folder, 'store.db')).close()
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

it('four processes that are killed and frozen do each effect at most once, in one order, and leave nothing open', async () => {
  const report = await runCrowd({
    folder,
    processes: 4,
    turns: 24,
    seed: 1,
    leaseMs: 400,
    everyMs: 400,
    most: 8,
    patienceMs: PATIENCE_MS,
  })
  const { problems, counts } = await judge(folder, report)
  expect(problems).toEqual([])
  expect(counts).toMatchObject({ inputs: 24, 'of these more than once': 0 })
  expect(report.kills + report.freezes).toBeGreaterThan(2)
})
