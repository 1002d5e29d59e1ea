/** R13: the cost of a turn does not depend on the length of the conversation. */
import type { Store } from 'holdfast'
import { loadSession, readWindow, saveSession } from 'holdfast/journal'
import { sqliteStore } from 'holdfast/sqlite'
import { LENGTH } from '../kit/budgets.ts'
import { growTalk } from '../kit/grow.ts'
import { interleave, millisOf } from '../kit/measure.ts'
import { type Case, compare, type Lab, type Row } from '../kit/result.ts'
import { newTalk, playTurn, type Talk } from '../kit/turn.ts'

const LONG = 10_000

export const length: Case = {
  name: 'length',
  title: 'turn 10,000 of a conversation against turn 10',
  measured:
    'the store’s part of a turn by a process that knows nothing yet: load the session, read the window, four appends, and a snapshot when one is due. NORMAL, so that a sync to disk does not hide a difference. A window of 24 messages is full in both.',
  notMeasured: 'opening the file; models, tools, hooks, projection.',
  run: async (lab) => {
    const store = sqliteStore(lab.path('length.db'), { synchronous: 'NORMAL' })
    const long = newTalk('long')
    await growTalk(store, long, { turns: LONG, lag: 0 })
    const rows = [await rowOf({ store, lab, long }, { short: 10, maxMessages: 24, budget: true })]
    if (!lab.short) {
      rows.push(await rowOf({ store, lab, long }, { short: 100, maxMessages: 100, budget: true }))
      rows.push(await rowOf({ store, lab, long }, { short: 10, maxMessages: 100, budget: false }))
    }
    await store.close()
    return rows
  },
}

interface Stage {
  readonly store: Store
  readonly lab: Lab
  readonly long: Talk
}

interface Scene {
  /** The turn that is compared with. */
  readonly short: number
  readonly maxMessages: number
  readonly budget: boolean
}

async function rowOf({ store, lab, long }: Stage, { short, maxMessages, budget }: Scene): Promise<Row> {
  // Twenty turns make a whole round of snapshots, which fall due every 200 entries.
  const turns = 20
  let named = 0
  const { early, late } = await interleave(
    { rounds: lab.short ? 9 : 21, seconds: lab.seconds },
    {
      early: async () => {
        const talks = Array.from({ length: turns }, () => newTalk(`short-${short}-${maxMessages}-${named++}`))
        for (const [lag, talk] of talks.entries()) await growTalk(store, talk, { turns: short - 1, lag })
        return 1000 * (await millisOf(turns, (i) => wholeTurn(store, talks[i] as Talk, maxMessages)))
      },
      late: async () => 1000 * (await millisOf(turns, () => wholeTurn(store, long, maxMessages))),
    },
  )
  return compare({
    what: `window of ${maxMessages}${budget ? '' : ', not full at turn 10'}`,
    unit: 'µs',
    baseline: [`turn ${short}`, early],
    subject: ['turn 10,000', late],
    ...(budget ? { budget: LENGTH } : {}),
  })
}

async function wholeTurn(store: Store, talk: Talk, maxMessages: number): Promise<void> {
  const session = await loadSession(store, talk.key)
  await readWindow(store, talk.key, { session, maxMessages })
  await playTurn(store, talk)
  if (talk.turn % 20 === 0) await saveSession(store, talk.key, { session, since: 0 })
}
