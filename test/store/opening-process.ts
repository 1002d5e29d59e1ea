/** A process that opens the store at each path that it is sent, and replies with the error, or an empty text. */
import { sqliteStore } from '../../src/store/sqlite/index.ts'

async function problemOf(path: string): Promise<string> {
  try {
    await sqliteStore(path).close()
    return ''
  } catch (error) {
    return String(error)
  }
}

process.on('message', (path: string) => {
  void problemOf(path).then((problem) => process.send?.(problem))
})
process.send?.('ready')
