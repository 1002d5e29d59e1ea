/** R13 for a whole agent: neither a turn nor a start depends on the length of the conversation. */
import type { Store } from 'holdfast'
import { sqliteStore } from 'holdfast/sqlite'
import { playAgentTurn, quickAgent } from '../kit/agent.ts'
import { AGENT_LENGTH } from '../kit/budgets.ts'
import { growTalk } from '../kit/grow.ts'
import { interleave, millisOf } from '../kit/measure.ts'
import { type Case, compare, type Lab, type Row } from '../kit/result.ts'
import { newTalk } from '../kit/turn.ts'

const LONG = 10_000
/** A whole round of snapshots, which fall due every 200 entries, and several steps of the window. */
const TURNS = 20

export const agentLength: Case = {
  name: 'agent-length',
  title: 'an agent at turn 10,000 of a conversation against one at turn 10',
  measured:
    'twenty turns of a started agent, executeTurn to outcome, from that turn on: everything that the agent case measures, NORMAL, so that a sync to disk does not hide a difference, with a window that is full in both. Then a new Agent and its start(): session, inbox and window of 100; the newest snapshot is ten turns old, and ten turns are too few for one.',
  notMeasured: 'opening the file; models and tools, which answer at once.',
  run: async (lab) => {
    const store = sqliteStore(lab.path('agent-length.db'), { synchronous: 'NORMAL' })
    const rows = [await turnRow({ store, lab }, { short: 10, maxMessages: 24 })]
    if (!lab.short) rows.push(await turnRow({ store, lab }, { short: 100, maxMessages: 100 }))
    rows.push(await startRow({ store, lab }))
    await store.close()
    return rows
  },
}

interface Stage {
  readonly store: Store
  readonly lab: Lab
}

async function turnRow(
  { store, lab }: Stage,
  { short, maxMessages }: { short: number; maxMessages: number },
): Promise<Row> {
  const contextId = `long-${maxMessages}`
  await growTalk(store, newTalk(contextId), { turns: LONG - 1, lag: 0 })
  const old = quickAgent({ contextId, store, maxMessages })
  await old.start()
  let named = 0
  const { early, late } = await interleave(
    { rounds: lab.short ? 9 : 21, seconds: lab.seconds },
    {
      early: async () => {
        const talk = newTalk(`short-${maxMessages}-${named++}`)
        await growTalk(store, talk, { turns: short - 1, lag: 0 })
        const young = quickAgent({ contextId: talk.key.contextId, store, maxMessages })
        await young.start()
        const figure = 1000 * (await millisOf(TURNS, () => playAgentTurn(young)))
        await young.shutdown()
        return figure
      },
      late: async () => 1000 * (await millisOf(TURNS, () => playAgentTurn(old))),
    },
  )
  await old.shutdown()
  return compare({
    what: `a turn, window of ${maxMessages}`,
    unit: 'µs',
    baseline: [`turn ${short}`, early],
    subject: ['turn 10,000', late],
    budget: AGENT_LENGTH.turn,
  })
}

async function startRow({ store, lab }: Stage): Promise<Row> {
  const [young, old] = [newTalk('young'), newTalk('old')]
  await growTalk(store, young, { turns: 10, lag: 0 })
  await growTalk(store, old, { turns: LONG, lag: 10 })
  const micros = async (contextId: string) =>
    1000 * (await millisOf(20, () => quickAgent({ contextId, store }).start()))
  const { ten, long } = await interleave(
    { rounds: lab.short ? 9 : 21, seconds: lab.seconds },
    { ten: () => micros(young.key.contextId), long: () => micros(old.key.contextId) },
  )
  return compare({
    what: 'start()',
    unit: 'µs',
    baseline: ['10 turns', ten],
    subject: ['10,000', long],
    budget: AGENT_LENGTH.start,
  })
}
