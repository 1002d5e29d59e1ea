/** Many agents in one process on one file, all at once. */
import type { Agent } from 'holdfast'
import { sqliteStore } from 'holdfast/sqlite'
import { QUESTION, quickAgent, quickModel } from '../kit/agent.ts'
import { spreadOf } from '../kit/measure.ts'
import { type Case, compare, type Row } from '../kit/result.ts'

const TURNS = 10

export interface Crowd {
  readonly agents: number
  readonly latencyMs: number
}

export function crowdCase({ agents, latencyMs }: Crowd, progress: (turns: number) => void): Case {
  return {
    name: 'crowd',
    title: `${agents.toLocaleString('en-US')} agents at once, ${TURNS} turns each`,
    measured: `agents on one SQLite file, FULL, each with its own conversation and turn after turn: two model calls of ${latencyMs} ms and one tool. Memory is the most that was seen; resident memory is that of the whole process since it began.`,
    notMeasured: 'reading the events; other processes.',
    run: async (lab) => {
      const store = sqliteStore(lab.path('crowd.db'))
      const model = quickModel(latencyMs)
      const crowd = Array.from({ length: agents }, (_, i) =>
        quickAgent({ contextId: `agent-${i}`, store, model }),
      )
      const tally: Tally = { ended: 0, stopped: 0, heap: 0, others: new Map(), progress }
      const started = performance.now()
      await Promise.all(crowd.map((agent) => live(agent, tally)))
      const seconds = (performance.now() - started) / 1000
      await Promise.all(crowd.map((agent) => agent.shutdown()))
      await store.close()
      for (const [what, count] of tally.others) console.error(`${count} turns ended otherwise: ${what}`)
      return rowsOf(tally, { wanted: agents * TURNS, seconds })
    },
  }
}

interface Tally {
  ended: number
  stopped: number
  heap: number
  readonly others: Map<string, number>
  readonly progress: (turns: number) => void
}

async function live(agent: Agent, tally: Tally): Promise<void> {
  for (let i = 0; i < TURNS; i++) {
    const { reason, error } = await agent.executeTurn(QUESTION).outcome
    tally.ended += 1
    if (reason === 'stop') tally.stopped += 1
    else {
      const what = `${reason} ${JSON.stringify(error ?? {})}`
      tally.others.set(what, (tally.others.get(what) ?? 0) + 1)
    }
    if (tally.ended % 100 !== 0) continue
    tally.heap = Math.max(tally.heap, process.memoryUsage().heapUsed)
    tally.progress(tally.ended)
  }
}

function rowsOf(
  { stopped, ended, heap }: Tally,
  { wanted, seconds }: { wanted: number; seconds: number },
): Row[] {
  const figure = (what: string, unit: string, value: number): Row => ({
    what,
    unit,
    subject: { name: '', spread: spreadOf([value]) },
  })
  const outcomes = compare({
    what: 'ended as they should',
    unit: 'turns',
    baseline: ['asked for', [wanted]],
    subject: ['stop', [stopped]],
    budget: { atLeast: 1 },
  })
  return [
    { ...outcomes, exact: true },
    figure('throughput', 'turns/s', ended / seconds),
    figure('heap at most', 'MB', heap / 1e6),
    figure('resident at most', 'MB', process.resourceUsage().maxRSS / 1e3),
  ]
}
