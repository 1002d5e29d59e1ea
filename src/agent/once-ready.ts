/** Runs the ready hooks of an agent once; after a failure the next caller retries. */
import type { MaybePromise, Timer } from '../base/index.ts'
import { runReadyHooks } from '../turn/index.ts'

type Hooks = Parameters<typeof runReadyHooks>[0]
type ReadyAgent = Parameters<typeof runReadyHooks>[1]

/** The returned function gives a promise until the hooks have run. */
export function onceReady(hooks: Hooks, agent: () => ReadyAgent, timer?: Timer): () => MaybePromise<void> {
  let isReady = false
  let readying: Promise<void> | undefined
  const getReady = async (): Promise<void> => {
    try {
      await runReadyHooks(hooks, agent(), timer)
      isReady = true
    } catch (error) {
      readying = undefined
      throw error
    }
  }
  return () => {
    readying ??= getReady()
    return isReady ? undefined : readying
  }
}
