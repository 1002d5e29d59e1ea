/** What the runtime adds to a whole turn, over a loop written by hand. */
import { memoryStore } from 'holdfast'
import { sqliteStore } from 'holdfast/sqlite'
import { playAgentTurn, quickAgent } from '../kit/agent.ts'
import { BareLog } from '../kit/bare.ts'
import { BareAgent } from '../kit/bare-agent.ts'
import { interleave, millisOf } from '../kit/measure.ts'
import { type Case, compare, type Lab, type Row } from '../kit/result.ts'
import { newTalk } from '../kit/turn.ts'

export const agent: Case = {
  name: 'agent',
  title: 'a whole turn of an agent against a bare loop with the same four commits',
  measured:
    'executeTurn to its outcome, with one reader of the events: two model calls and one tool, 20 deltas, a window of 100 messages; claim, fold, prompt, stream, checks of arguments and result, four appends, snapshots. The bare loop streams the same model, calls the same tool and writes the same entries as JSON with prepared statements. Both have warmed up for 1,500 turns. The memory row is the turn without a database, against the same loop that writes nothing; the last row is that turn asked for with three credentials, new with every turn, against one without.',
  notMeasured: 'the model and the tool, which answer at once; schema libraries; other processes.',
  run: async (lab) => {
    await warmUp()
    return [
      await sqliteRow(lab, 'FULL', { turns: lab.short ? 30 : 100, rounds: lab.short ? 7 : 15 }),
      await sqliteRow(lab, 'NORMAL', { turns: lab.short ? 150 : 300, rounds: lab.short ? 7 : 15 }),
      ...(lab.short ? [] : [await memoryRow(lab), await credentialsRow(lab)]),
    ]
  },
}

/** A turn runs through much more code than the loop does, and the first thousand of them go to the compiler. */
async function warmUp(): Promise<void> {
  const loop = new BareAgent({ write: () => {} }, newTalk('bare'))
  const whole = quickAgent({ contextId: 'agent' })
  for (let i = 0; i < 1500; i++) await loop.playTurn().then(() => playAgentTurn(whole))
  await whole.shutdown()
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
    budget: { atMost: synchronous === 'FULL' ? 2 : 5 },
  })
}

async function memoryRow(lab: Lab): Promise<Row> {
  const turns = 300
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
