import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { memoryStore } from '../../../../src/index.ts'
import { ScriptedModel } from '../../../../src/testing/index.ts'
import { open } from '../kit.ts'
import { type CrashCase, CrashRun } from './crash.ts'
import { SERVER } from './fleet.ts'
import { runLoad } from './load.ts'
import { runStreams } from './streams.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-servers-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function place(name: string): { readonly folder: string; readonly program: string } {
  mkdirSync(join(folder, name))
  return { folder: join(folder, name), program: SERVER }
}

test('streams that are cut, or held at two servers, have every entry across kills (npm run streams has 1,000 cuts)', async () => {
  const report = await runStreams({ ...place('streams'), cuts: 6, cutsPerKill: 3, seed: 3 })
  expect(report.problems).toEqual([])
  expect(report.cuts).toBeGreaterThanOrEqual(6)
  expect(report.kills).toBeGreaterThanOrEqual(1)
  expect(report.heldBreaks).toBeGreaterThanOrEqual(2)
})

test('every entry of many turns at once reaches its stream (npm run load:http has 1,000 streams)', async () => {
  const agent = () => ({
    model: new ScriptedModel(() => ({ deltas: Array.from({ length: 20 }, () => 'word ') })),
  })
  const { url } = await open({ store: memoryStore(), agents: { a: agent } }, { requestsPerMinute: 1_000_000 })
  const report = await runLoad({ url, streams: 10, perSecond: 200, seconds: 0.25 })
  expect(report.problems).toEqual([])
  expect([report.accepted, report.ended, report.refused]).toEqual([50, 50, {}])
})

test('a server is killed at an append or an effect: the client gets the rest, and each effect is one (npm run crash:http has every point)', async () => {
  const points = [
    { of: 'append', at: 1, when: 'after' },
    { of: 'append', at: 6, when: 'before' },
    { of: 'effect', at: 3, when: 'after' },
  ] as const
  const run = await CrashRun.start(place('crash'))
  const found: CrashCase[] = []
  const problems: string[] = []
  try {
    for (const point of points) found.push(await run.killAt(point))
  } finally {
    problems.push(...(await run.close()))
  }
  expect(found).toMatchObject(points.map((point) => ({ point, isKilled: true, problems: [] })))
  expect(problems).toEqual([])
})
