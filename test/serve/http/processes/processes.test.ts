import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../../../src/client/index.ts'
import { memoryStore } from '../../../../src/index.ts'
import { ScriptedModel } from '../../../../src/testing/index.ts'
import { open } from '../kit.ts'
import { ServerProcess } from './fleet.ts'
import { runLoad } from './load.ts'
import { runStreams } from './streams.ts'

function folderOfTest(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-servers-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('a stream that is cut across killed servers has every entry once (npm run streams has 1,000 cuts)', async () => {
  const report = await runStreams({ folder: folderOfTest(), cuts: 12, cutsPerKill: 6, seed: 3 })
  expect(report.problems).toEqual([])
  expect(report.cuts).toBeGreaterThanOrEqual(12)
  expect(report.kills).toBeGreaterThanOrEqual(1)
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

test('a server is killed in mid-turn and started again: the client gets the rest, and the effect is one', async () => {
  const folder = folderOfTest()
  const first = await ServerProcess.start(folder)
  const conversation = createClient({ url: first.url, retries: 50 }).conversation('a:1')
  const seen: string[] = []
  const reading = async () => {
    for await (const event of conversation.events()) {
      if (event.type === 'entry') seen.push(`${event.entry.seq} ${event.entry.type}`)
      if (event.type === 'entry' && event.entry.type === 'turn.end') return
    }
  }
  const outcome = conversation.ask({ message: 'Please do hold-1', key: 'k' })
  const effects = (): string => {
    try {
      return readFileSync(join(folder, 'effects.log'), 'utf8')
    } catch {
      return ''
    }
  }
  while (effects() === '') await sleep(20)
  const read = reading()
  while (!seen.some((entry) => entry.endsWith('tool.start'))) await sleep(20)
  await first.kill()
  writeFileSync(join(folder, 'go'), '')
  const second = await ServerProcess.start(folder, first.port)
  onTestFinished(() => second.kill())
  expect(await outcome).toMatchObject({ status: 'completed', turn: 1 })
  await read
  expect(seen.map((entry) => entry.split(' ')[0])).toEqual(seen.map((_, at) => String(at + 1)))
  expect(seen.at(-1)).toMatch(/turn\.end$/)
  expect(effects()).toBe('hold-1\n')
})
