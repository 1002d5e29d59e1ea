/**
 * Two processes on one conversation: the owner advances it, the other may watch and post to the inbox. When the owner is
 * gone, the other takes over. Here both are stores on one file.
 */
import { HoldfastError, LOCAL_OWNER } from 'holdfast'
import { systemIds } from 'holdfast/journal'
import { sqliteStore } from 'holdfast/sqlite'

const key = { ...LOCAL_OWNER, contextId: 'site-7' }
const first = sqliteStore('two.db')
const second = sqliteStore('two.db')
const id = () => systemIds.next('append')

const stop = new AbortController()
const watching = (async () => {
  for await (const entry of second.watch(key, { signal: stop.signal }))
    console.log('  seen', entry.seq, entry.type)
})()

const { last, epoch } = await first.append({
  key,
  id: id(),
  since: 0,
  inbox: [{ type: 'input', key: 'm1', data: { message: 'Which tasks are late?' } }],
  claim: { driver: 'first', leaseMs: 200 },
  entries: [{ type: 'turn.start', turn: 1, takes: ['m1'], data: { principal: LOCAL_OWNER } }],
})

// Anyone may post; the entry waits until the owner takes it.
await second.append({
  key,
  id: id(),
  since: 0,
  inbox: [{ type: 'cancel', key: 'stop-1', data: { turn: 1 } }],
})
console.log('the owner sees:', (await first.renew({ key, epoch, since: last })).inbox[0]?.type)

// No other driver may advance it while the lease holds …
const refused = await second
  .append({ key, id: id(), since: 0, claim: { driver: 'second', leaseMs: 200 } })
  .catch((error: unknown) => error)
console.log('a second claim:', HoldfastError.is(refused) && refused.code)

// … and a driver that comes back too late is fenced.
await new Promise((resolve) => setTimeout(resolve, 250))
await second.append({ key, id: id(), since: 0, claim: { driver: 'second', leaseMs: 200 } })
const late = await first
  .append({
    key,
    id: id(),
    since: last,
    epoch,
    entries: [{ type: 'note', turn: 1, data: { text: 'late', from: 'me' } }],
  })
  .catch((error: unknown) => error)
console.log('the first one, late:', HoldfastError.is(late) && late.code)

stop.abort()
await watching
await Promise.all([first.close(), second.close()])
