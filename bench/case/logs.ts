/** The cost of logs in a whole turn: text log, session file, logger and trace, against an agent without them. */
import type { Agent, AgentConfig, Store } from 'holdfast'
import { sqliteStore } from 'holdfast/sqlite'
import { playAgentTurn, quickAgent } from '../kit/agent.ts'
import { LOGS } from '../kit/budgets.ts'
import { interleave, millisOf } from '../kit/measure.ts'
import { type Budget, type Case, compare, type Lab, type Row } from '../kit/result.ts'

export const logs: Case = {
  name: 'logs',
  title: 'a turn with logs against a quiet one',
  measured:
    'the turn of the case agent, on SQLite with NORMAL. On: the text log and the session file, as a named agent has them, and a logger that does nothing. With onComplete: the turn waits until it is in the session file, and a hook reads the trace, against the same hook that reads nothing. Off: a named agent with log: false and sessions: false, against one without a name. Both sides have run 3,000 turns before.',
  notMeasured: 'a disk that is slow or full; console output.',
  run: async (lab) => {
    const reading = { on: { onComplete: ({ trace }: { trace: readonly unknown[] }) => void trace.length } }
    const hooked = { on: { onComplete: () => {} } }
    return [
      await row(lab, 'a turn with logs', { loud: logged(lab), budget: LOGS.on }),
      await row(lab, 'a turn with logs, trace and onComplete', {
        quiet: hooked,
        loud: { ...logged(lab), ...reading },
        budget: LOGS.hooked,
      }),
      await row(lab, 'a turn with logs off', {
        loud: { name: 'off', log: false, sessions: false },
        budget: LOGS.off,
      }),
    ]
  },
}

const NOTHING = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

function logged(lab: Lab): Partial<AgentConfig> {
  return {
    name: 'clerk',
    log: { folder: lab.path('logs') },
    sessions: { folder: lab.path('sessions') },
    logger: NOTHING,
  }
}

interface Sides {
  readonly quiet?: Partial<AgentConfig>
  readonly loud: Partial<AgentConfig>
  readonly budget: Budget
}

async function row(lab: Lab, what: string, sides: Sides): Promise<Row> {
  const turns = lab.short ? 100 : 200
  const stores = ['quiet', 'loud'].map((name) =>
    sqliteStore(lab.path(`${name}.db`), { synchronous: 'NORMAL' }),
  )
  const [quiet, loud] = [
    quickAgent({ contextId: 'quiet', ...sides.quiet, store: stores[0] as Store }),
    quickAgent({ contextId: 'loud', ...sides.loud, store: stores[1] as Store }),
  ]
  await warmUp(lab, [quiet, loud])
  const micros = (agent: Agent) => async () => 1000 * (await millisOf(turns, () => playAgentTurn(agent)))
  const figures = await interleave(
    { rounds: lab.short ? 9 : 25, seconds: lab.seconds },
    { quiet: micros(quiet), loud: micros(loud) },
  )
  await Promise.all([quiet.shutdown(), loud.shutdown()])
  await Promise.all(stores.map((store) => store.close()))
  return compare({
    what,
    unit: 'µs',
    baseline: ['quiet', figures.quiet],
    subject: ['logged', figures.loud],
    budget: sides.budget,
  })
}

async function warmUp(lab: Lab, agents: readonly Agent[]): Promise<void> {
  for (let turn = 0; turn < (lab.short ? 500 : 3000); turn++)
    for (const agent of agents) await playAgentTurn(agent)
}
