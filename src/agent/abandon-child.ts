/** Ends the sub-agent of a call that its caller has abandoned, and the sub-agents below it. */
import { clearContext } from '../journal/index.ts'
import type { ContextKey } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'

interface Child {
  readonly turn: { readonly outcome: Promise<unknown> } | undefined
  cancel(reason: string): Promise<void>
  start(): Promise<void>
  shutdown(): Promise<void>
}

export async function abandonChild(store: Store, key: ContextKey, open: () => Child): Promise<void> {
  const head = await store.head(key)
  if (head?.status === 'waiting') await clearContext(store, key, 'its caller went on')
  if (head?.status !== 'running' && head?.status !== 'paused') return
  const child = open()
  await child.cancel('its caller went on')
  await child.start()
  await child.turn?.outcome
  await child.shutdown()
}
