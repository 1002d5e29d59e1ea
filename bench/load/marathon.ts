/** One agent for thousands of turns: neither its heap nor the time of a turn may grow (R13). */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as breathe } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { sqliteStore } from 'holdfast/sqlite'
import { playAgentTurn, quickAgent } from '../kit/agent.ts'
import { type Case, compare, type Row } from '../kit/result.ts'

/** So many turns are compared at the beginning and at the end; those before them go to the compiler. */
const STRETCH = 500
const FLAT = { atMost: 1.2 }

export function marathonCase(turns: number, progress: (turns: number) => void): Case {
  return {
    name: 'marathon',
    title: `${turns.toLocaleString('en-US')} turns of one agent`,
    measured: `the heap after a forced garbage collection after a tenth, half and all of the turns; the time of turns ${STRETCH} to ${2 * STRETCH} and of the last ${STRETCH}. SQLite, NORMAL, a window of 100 messages, which is full long before; with text log and session files, and their sizes against the default bounds.`,
    notMeasured: 'models and tools, which answer at once; memory outside of the heap.',
    run: async (lab) => {
      const store = sqliteStore(lab.path('marathon.db'), { synchronous: 'NORMAL' })
      const folders = { logs: lab.path('logs'), sessions: lab.path('sessions') }
      const agent = quickAgent({
        contextId: 'marathon',
        name: 'marathon',
        store,
        log: { folder: folders.logs },
        sessions: { folder: folders.sessions },
      })
      const collect = garbageCollector()
      const marks = [turns / 10, turns / 2, turns].map(Math.floor)
      const [times, heaps]: [number[], number[]] = [[], []]
      for (let turn = 1; turn <= turns; turn++) {
        const start = performance.now()
        await playAgentTurn(agent)
        times.push(1000 * (performance.now() - start))
        if (marks.includes(turn)) heaps.push(await heapAfter(collect))
        if (turn % 100 === 0) progress(turn)
      }
      await agent.shutdown()
      await store.close()
      const logs = [sizeRow('text logs', folders.logs, 30), sizeRow('session files', folders.sessions, 100)]
      return [...heapRows(marks, heaps), timeRow(times), ...logs]
    },
  }
}

function heapRows(marks: readonly number[], heaps: readonly number[]): Row[] {
  const [first = Number.NaN, ...others] = heaps
  const name = (mark: number | undefined) => `turn ${mark?.toLocaleString('en-US')}`
  return others.map((heap, i) =>
    compare({
      what: 'heap',
      unit: 'MB',
      baseline: [name(marks[0]), [first]],
      subject: [name(marks[i + 1]), [heap]],
      budget: FLAT,
    }),
  )
}

/** By quartiles of both stretches: single turns differ, and the machine has other things to do. */
function timeRow(times: readonly number[]): Row {
  const sorted = (figures: readonly number[]) => figures.toSorted((a, b) => a - b)
  return compare({
    what: 'a turn',
    unit: 'µs',
    baseline: ['early', sorted(times.slice(STRETCH, 2 * STRETCH))],
    subject: ['late', sorted(times.slice(-STRETCH))],
    budget: FLAT,
  })
}

/** All files of a folder against the bound in MB. */
function sizeRow(what: string, folder: string, bound: number): Row {
  const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
  return compare({
    what,
    unit: 'MB',
    baseline: ['bound', [bound]],
    subject: ['at the end', [bytes / 2 ** 20]],
    budget: { atMost: 1 },
  })
}

async function heapAfter(collect: () => void): Promise<number> {
  // Pending work of the last turn ends first.
  await breathe()
  collect()
  await breathe()
  collect()
  return process.memoryUsage().heapUsed / 1e6
}

/** Without asking whoever runs this to start Node with a flag. */
function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}
