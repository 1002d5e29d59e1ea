/**
 * The other process of the watch case: appends to the file named on its command line, at uneven intervals, entries
 * that carry the moment just before the append. The monotonic clock is the machine's, so both processes read the same.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { sqliteStore } from 'holdfast/sqlite'
import { newTalk } from './turn.ts'

const store = sqliteStore(process.argv[2] ?? '')
const { key } = newTalk('watched')
for (let i = 0; i < 40; i++) {
  await sleep(35 + ((i * 37) % 60))
  const data = { turn: i + 1, reason: String(process.hrtime.bigint()) }
  await store.append({ key, id: `append-${i}`, since: i, inbox: [{ type: 'cancel', key: `key-${i}`, data }] })
}
await store.close()
