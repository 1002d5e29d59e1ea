/**
 * `node --import test/drive/delayed-awaits.ts FILE`: delays every `await` of the rooms that drive, and every element of
 * a `for await`, by a random time: nothing, some microtasks, or a round of the event loop. `shuffle` seeds it. Code
 * whose correctness depends on a number of ticks does not survive this for long. Importing it changes what is imported
 * after it, so no test does.
 */
import { registerHooks } from 'node:module'
import { Random } from '../reflex/random.ts'
import { withDelays } from './with-delays.ts'

const ROOMS = /\/src\/(drive|turn|graph|agent)\/(?!.*\.test\.ts$)/

let random = new Random(1)

/** Seeds the random numbers from here on. */
export function shuffle(seed: number): void {
  random = new Random(seed)
}

async function pass(): Promise<void> {
  const chance = random.next()
  if (chance < 0.4) return
  if (chance > 0.75) await new Promise((resolve) => setImmediate(resolve))
  else for (let ticks = Math.ceil(chance * 20); ticks > 0; ticks--) await Promise.resolve()
}

async function delayed<T>(work: T): Promise<Awaited<T>> {
  try {
    return await work
  } finally {
    await pass()
  }
}

async function* delayedEach<T>(source: AsyncIterable<T> | Iterable<T>): AsyncGenerator<T> {
  for await (const element of source) {
    await pass()
    yield element
  }
}

Object.assign(globalThis, { delayed, delayedEach })

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context)
    if (!ROOMS.test(url) || loaded.source === undefined || loaded.source === null) return loaded
    const text = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source)
    return { ...loaded, source: withDelays(url, text) }
  },
})
