/** A process that opens the store at each path that it is sent, and replies with the error, or an empty text. */
import { type SqliteStore, sqliteStore } from '../../src/store/sqlite/index.ts'

process.on('message', async (path: string) => {
  let problem = ''
  try {
    const store: SqliteStore = sqliteStore(path)
    await store.close()
  } catch (error) {
    problem = String(error)
  }
  process.send?.(problem)
})
process.send?.('ready')
