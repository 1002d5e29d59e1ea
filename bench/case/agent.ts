/** The overhead of the runtime in a whole turn, over a handwritten loop. */
import { type Agent, memoryStore, type Store } from 'holdfast'
import { sqliteStore } from 'holdfast/sqlite'
import { playAgentTurn, quickAgent } from '../kit/agent.ts'
import { BareLog } from '../kit/bare.ts'
import { BareAgent } from '../kit/bare-agent.ts'
import { AGENT } from '../kit/budgets.ts'
import { interleave, millisOf } from '../kit/measure.ts'
import { progressBar } from '../kit/progress.ts'
import { type Case, compare, type Lab, type Row } from '../kit/result.ts'
import { newTalk } from '../kit/turn.ts'

export const agent: Case = {
  name: 'agent',
  title: 'a whole turn of an agent against a bare loop with the same four commits',
  measured:
    'executeTurn to its outcome, with one reader of the events: two model calls and one tool, 20 deltas, a window of 100 messages; claim, fold, prompt, stream, checks of arguments and result, four appends, snapshots. The bare loop streams the same model, calls the same tool and writes the same entries as JSON with prepared statements. Both have warmed up for 12,000 turns, with the store that is measured. The memory row is the turn without a database, against the same loop that writes nothing; the row of 50 is that of as many conversations at once, for one turn of one of them; the last row is that turn asked for with three credentials, new with every turn, against one without.',
  notMeasured: 'the model and the tool, which answer at once; schema libraries; other processes.',
  run: async (lab) => {
    const { turns, rounds } = lab.short ? { turns: 150, rounds: 7 } : { turns: 300, rounds: 15 }
    const hasMemory = !lab.short || AGENT.memory !== undefined
    const hasFifty = !lab.short || AGENT.fifty !== undefined
    if (hasMemory) await warmUp(lab, memoryStore())
    const memory = hasMemory ? [await memoryRow(lab)] : []
    const credentials = lab.short ? [] : [await credentialsRow(lab)]
    const store = sqliteStore(lab.path('warm.db'), { synchronous: 'NORMAL' })
    await warmUp(lab, store)
    await store.close()
    return [
      await sqliteRow(lab, 'FULL', { turns: lab.short ? 30 : 100, rounds }),
      await sqliteRow(lab, 'NORMAL', { turns, rounds }),
      ...memory,
      ...(hasFifty ? [await fiftyRow(lab, rounds)] : []),
      ...credentials,
    ]
  },
}

/**
 * So many turns go to the compiler: V8 optimises and takes back for about 12,000 turns, in memory as with SQLite, and the
 * time of a turn stays within noise from there on (CPU time of 1,000 turns in a row, in runs of 24,000 and 18,000). By then
 * it is about half of that of the first 2,000.
 */
const WARM_UP_TURNS = 12_000
/** For the guard, whose margin is wide: most of the gain is made in the first 3,000. */
const SHORT_WARM_UP_TURNS = 3_000

/** With the store that is measured. FULL and NORMAL run the same code, and differ in how long they wait for the disk. */
async function warmUp(lab: Lab, store: Store): Promise<void> {
  const turns = lab.short ? SHORT_WARM_UP_TURNS : WARM_UP_TURNS
  const log = new BareLog(lab.path('warm-bare.db'), 'NORMAL')
  const loop = new BareAgent(log, newTalk('bare'))
  const whole = quickAgent({ contextId: 'warm', store })
  const progress = lab.short ? () => {} : progressBar('turns to warm up', turns)
  for (let turn = 1; turn <= turns; turn++) {
    await loop.playTurn()
    await playAgentTurn(whole)
    progress(turn)
  }
  await whole.shutdown()
  log.close()
}

async function sqliteRow(
  lab: Lab,
  synchronous: 'FULL' | 'NORMAL',
  { turns, rounds }: { turns: number; rounds: number },
): Promise<Row> {
  const log = new BareLog(lab.path('bare.db'), synchronous)
  const store = sqliteStore(lab.path('agent.db'), { synchronous })
  const loop = new BareAgent(log, newTalk('bare'))
  const whole = quickAgent({ contextId: 'agent', store })
  const { bare, durable } = await interleave(
    { rounds, seconds: lab.seconds },
    {
      bare: async () => 1000 * (await millisOf(turns, () => loop.playTurn())),
      durable: async () => 1000 * (await millisOf(turns, () => playAgentTurn(whole))),
    },
  )
  await whole.shutdown()
  log.close()
  await store.close()
  return compare({
    what: `a turn, ${synchronous}`,
    unit: 'µs',
    baseline: ['bare', bare],
    subject: ['agent', durable],
    budget: AGENT[synchronous],
  })
}

async function memoryRow(lab: Lab): Promise<Row> {
  const turns = lab.short ? 150 : 300
  const loop = new BareAgent({ write: () => {} }, newTalk('bare'))
  const whole = quickAgent({ contextId: 'agent', store: memoryStore() })
  const { bare, volatile } = await interleave(
    { rounds: 15, seconds: lab.seconds },
    {
      bare: async () => 1000 * (await millisOf(turns, () => loop.playTurn())),
      volatile: async () => 1000 * (await millisOf(turns, () => playAgentTurn(whole))),
    },
  )
  await whole.shutdown()
  return compare({
    what: 'a turn, in memory',
    unit: 'µs',
    baseline: ['bare', bare],
    subject: ['agent', volatile],
    budget: AGENT.memory,
  })
}

/** One loop by hand, turn after turn, against fifty conversations that share commits. */
async function fiftyRow(lab: Lab, rounds: number): Promise<Row> {
  const log = new BareLog(lab.path('bare.db'), 'NORMAL')
  const store = sqliteStore(lab.path('fifty.db'), { synchronous: 'NORMAL' })
  const loop = new BareAgent(log, newTalk('bare'))
  const agents = Array.from({ length: 50 }, (_, at) => quickAgent({ contextId: `agent-${at}`, store }))
  const turns = lab.short ? 3 : 6
  const play = async (one: Agent): Promise<void> => {
    for (let turn = 0; turn < turns; turn++) await playAgentTurn(one)
  }
  const { bare, fifty } = await interleave(
    { rounds, seconds: lab.seconds },
    {
      bare: async () => 1000 * (await millisOf(turns * agents.length, () => loop.playTurn())),
      fifty: async () =>
        (1000 * (await millisOf(1, () => Promise.all(agents.map(play))))) / (turns * agents.length),
    },
  )
  await Promise.all(agents.map((one) => one.shutdown()))
  log.close()
  await store.close()
  return compare({
    what: 'a turn, 50 at once, NORMAL',
    unit: 'µs',
    baseline: ['bare', bare],
    subject: ['agents', fifty],
    budget: AGENT.fifty,
  })
}

async function credentialsRow(lab: Lab): Promise<Row> {
  const turns = 300
  const plain = quickAgent({ contextId: 'plain', store: memoryStore() })
  const secret = quickAgent({ contextId: 'secret', store: memoryStore() })
  let asked = 0
  const withCredentials = (): Promise<void> => {
    asked += 1
    const token = `tok_${asked}_8f2e1c0d9b7a6f5e4d3c2b1a`
    const database = `postgres://app:${token.toUpperCase()}@db.example:5432/main`
    return playAgentTurn(secret, { auth: { credentials: { token, header: `Bearer h${token}`, database } } })
  }
  const { without, having } = await interleave(
    { rounds: 15, seconds: lab.seconds },
    {
      without: async () => 1000 * (await millisOf(turns, () => playAgentTurn(plain))),
      having: async () => 1000 * (await millisOf(turns, withCredentials)),
    },
  )
  await plain.shutdown()
  await secret.shutdown()
  return compare({
    what: 'a turn with credentials',
    unit: 'µs',
    baseline: ['without', without],
    subject: ['with', having],
  })
}
