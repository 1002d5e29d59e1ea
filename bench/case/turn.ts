/** The overhead of the store in a turn, over handwritten rows. */
import { sqliteStore } from 'holdfast/sqlite'
import { BareLog } from '../kit/bare.ts'
import { TURN } from '../kit/budgets.ts'
import { interleave, millisOf } from '../kit/measure.ts'
import { type Case, compare, type Lab, type Row } from '../kit/result.ts'
import { newTalk, playTurn } from '../kit/turn.ts'

export const turn: Case = {
  name: 'turn',
  title: 'one conversation, turn after turn, against a bare loop with the same four commits',
  measured:
    'append, four times a turn: {input, claim, turn.start, model.start} {model.end, tool.start} {tool.end, model.start} {model.end, turn.end}; ids, checks, JSON, fence, head row, indexes, commit. The bare loop writes the same entries as JSON into a table (context, seq, data) with prepared statements.',
  notMeasured:
    'folding, projecting, streaming, hooks, models and tools: the budget is for a whole turn, of which this is the durable part.',
  run: async (lab) => [
    await rowOf(lab, 'FULL', { turns: lab.short ? 30 : 100, rounds: lab.short ? 7 : 15 }),
    await rowOf(lab, 'NORMAL', { turns: lab.short ? 150 : 400, rounds: lab.short ? 7 : 15 }),
  ],
}

async function rowOf(
  lab: Lab,
  synchronous: 'FULL' | 'NORMAL',
  { turns, rounds }: { turns: number; rounds: number },
): Promise<Row> {
  const log = new BareLog(lab.path('bare.db'), synchronous)
  const store = sqliteStore(lab.path('store.db'), { synchronous })
  const [bareTalk, talk] = [newTalk('bare'), newTalk('talk')]
  const { bare, durable } = await interleave(
    { rounds, seconds: lab.seconds },
    {
      bare: async () => 1000 * (await millisOf(turns, () => log.playTurn(bareTalk))),
      durable: async () => 1000 * (await millisOf(turns, () => playTurn(store, talk))),
    },
  )
  log.close()
  await store.close()
  return compare({
    what: `a turn, ${synchronous}`,
    unit: 'µs',
    baseline: ['bare', bare],
    subject: ['store', durable],
    budget: TURN[synchronous],
  })
}
