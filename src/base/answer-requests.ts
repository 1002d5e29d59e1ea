/** The side of a `LimitedProcess` that runs in the process: answers requests, and ends when it is too large or alone. */
import type { ProcessReply } from './limited-process.ts'

const MEGABYTE = 1024 * 1024

/** Called once, by the program of the process. `run` gets what `ask` was given. */
export function answerRequests(run: (request: never) => Promise<unknown>): void {
  closeNetwork()
  const answer = async (request: unknown): Promise<ProcessReply> => {
    try {
      return { result: await run(request as never) }
    } catch (error) {
      return { failure: error instanceof Error ? error.message : String(error) }
    }
  }
  const ready = watchProcess()
  // Ctrl-C in a terminal reaches the whole group. The parent decides.
  process.on('SIGINT', () => undefined)
  process.on('disconnect', () => process.exit())
  process.on('message', (request: unknown) => {
    void ready.then(() => answer(request)).then((reply) => process.send?.(reply))
  })
}

/** No input may cause a request. Parsers make none; this holds when one of them changes. */
function closeNetwork(): void {
  for (const name of ['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest'])
    Object.defineProperty(globalThis, name, { value: undefined })
}

/** A thread that ends the process when it is too large or its parent is gone. The main thread may be busy for long. */
async function watchProcess(): Promise<void> {
  const { Worker } = await import('node:worker_threads')
  const workerData = { most: Number(process.argv[2]) * MEGABYTE, parent: process.ppid }
  // No file of its own: this room is one chunk of the package, and such a file would run in every program.
  new Worker(WATCH, { eval: true, workerData }).unref()
}

const WATCH = `
const { most, parent } = require('node:worker_threads').workerData
setInterval(() => {
  if (process.memoryUsage.rss() > most || process.ppid !== parent) process.kill(process.pid, 'SIGKILL')
}, 25)`
