/** The time from an append to its delivery to a watcher (R18). */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { sqliteStore } from 'holdfast/sqlite'
import { quantile, type Spread, spreadOf } from '../kit/measure.ts'
import { type Case, compare, type Lab, type Row } from '../kit/result.ts'
import { CLAIM, newTalk } from '../kit/turn.ts'

const NOTE = 'Two of the open tasks have no owner yet. '.repeat(5)

export const watch: Case = {
  name: 'watch',
  title: 'from append to the eyes of a watcher',
  measured:
    'the time from calling append with one entry until a watcher of the same process holds it, beside the time until the append itself is acknowledged; then the same with writer and watcher in two processes, which meet by polling. Rows of p99 give the slowest in a hundred.',
  notMeasured: 'streaming deltas, HTTP, many watchers.',
  run: async (lab) => [
    ...(await inProcess(lab, 'FULL')),
    ...(await inProcess(lab, 'NORMAL')),
    await acrossProcesses(lab, undefined),
    await acrossProcesses(lab, 10),
  ],
}

async function inProcess(lab: Lab, synchronous: 'FULL' | 'NORMAL'): Promise<Row[]> {
  const store = sqliteStore(lab.path('watch.db'), { synchronous })
  const { key } = newTalk('watched')
  const { epoch, last } = await store.append({ key, id: 'claim', since: 0, claim: CLAIM })
  const stop = new AbortController()
  const seen = store.watch(key, { since: last, signal: stop.signal })[Symbol.asyncIterator]()
  const [acknowledged, delivered]: [number[], number[]] = [[], []]
  for (let i = 0; i < 600; i++) {
    const next = seen.next()
    const entries = [{ type: 'note', turn: 0, data: { from: 'bench', text: `Note ${i}. ${NOTE}` } }]
    const start = performance.now()
    const appended = store.append({ key, id: `append-${i}`, since: last + i, epoch, entries })
    const arrived = next.then(() => performance.now())
    acknowledged.push(1000 * ((await appended.then(() => performance.now())) - start))
    delivered.push(1000 * ((await arrived) - start))
  }
  stop.abort()
  await seen.return?.()
  await store.close()
  const [appends, arrivals] = [acknowledged.slice(100), delivered.slice(100)]
  const row = compare({
    what: `same process, ${synchronous}`,
    unit: 'µs',
    baseline: ['append', appends],
    subject: ['watcher', arrivals],
  })
  return [
    row,
    {
      what: `same process, ${synchronous}, p99`,
      unit: 'µs',
      baseline: { name: 'append', spread: p99(appends) },
      subject: { name: 'watcher', spread: p99(arrivals) },
    },
  ]
}

async function acrossProcesses(lab: Lab, pollMs: number | undefined): Promise<Row> {
  const path = lab.path('watch.db')
  const store = sqliteStore(path, pollMs === undefined ? {} : { pollMs })
  const { key } = newTalk('watched')
  const writer = spawn(process.execPath, [fileURLToPath(new URL('../kit/stamp.ts', import.meta.url)), path], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const stop = new AbortController()
  const ended = new Promise<number | null>((resolve) => writer.on('close', resolve))
  const failed = ended.then((code) => (code === 0 ? undefined : stop.abort()))
  const latencies: number[] = []
  for await (const entry of store.watch(key, { signal: stop.signal })) {
    latencies.push(Number(process.hrtime.bigint() - BigInt(entry.data['reason'] as string)) / 1e6)
    if (latencies.length === 40) break
  }
  await failed
  await store.close()
  if (latencies.length < 40) throw new Error('The writing process failed; what it said stands above.')
  const what = `other process, pollMs ${pollMs ?? '100 (default)'}`
  return { what, unit: 'ms', subject: { name: 'watcher', spread: spreadOf(latencies) } }
}

function p99(figures: readonly number[]): Spread {
  const value = quantile(
    figures.toSorted((a, b) => a - b),
    0.99,
  )
  return { median: value, low: value, high: value, rounds: figures.length }
}
