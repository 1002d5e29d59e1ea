/** R13: the cost of reading the entries of a prompt depends on the window alone. */
import type { Store } from 'holdfast'
import { loadSession, readWindow } from 'holdfast/journal'
import { sqliteStore } from 'holdfast/sqlite'
import { growTalk } from '../kit/grow.ts'
import { interleave, millisOf } from '../kit/measure.ts'
import { type Case, compare } from '../kit/result.ts'
import { newTalk } from '../kit/turn.ts'

export const window: Case = {
  name: 'window',
  title: 'the window of a conversation of 10,000 turns against one of 100',
  measured: 'readWindow for 100 messages, the session being known. Both conversations fill the window.',
  notMeasured: 'loading the session; turning entries into messages and messages into a prompt.',
  run: async (lab) => {
    const store = sqliteStore(lab.path('window.db'), { synchronous: 'NORMAL' })
    const short = await reader(store, 100)
    const long = await reader(store, 10_000)
    const effort = { rounds: 15, seconds: lab.seconds }
    const { hundred, thousands } = await interleave(effort, { hundred: short, thousands: long })
    await store.close()
    return [
      compare({
        what: '100 messages',
        unit: 'µs',
        baseline: ['100 turns', hundred],
        subject: ['10,000', thousands],
      }),
    ]
  },
}

async function reader(store: Store, turns: number): Promise<() => Promise<number>> {
  const { key, ...talk } = newTalk(`turns-${turns}`)
  await growTalk(store, { key, ...talk }, { turns, lag: 0 })
  const session = await loadSession(store, key)
  return async () => 1000 * (await millisOf(40, () => readWindow(store, key, { session, maxMessages: 100 })))
}
