/** What was run below a task that nobody goes on with: it has nothing to wait for any more. */
import { clearContext } from '../journal/index.ts'
import { type ContextKey, defined } from '../protocol/index.ts'
import type { ListPage, Store } from '../store/index.ts'

/** Whatever waits below the task stops waiting, and so does what waits below that. What runs is cancelled with its caller. */
export async function abandonBelow(store: Store, key: ContextKey, task = ''): Promise<void> {
  const { contextId, ...owner } = key
  const prefix = `${contextId}/${task}`
  let cursor: string | undefined
  do {
    const page: ListPage = await store.list({
      owner,
      parent: contextId,
      status: 'waiting',
      prefix,
      ...defined({ cursor }),
    })
    for (const { key: below } of page.heads) {
      const rest = below.contextId.slice(prefix.length)
      // The tenth task begins like the first.
      if (task !== '' && rest !== '' && !rest.startsWith('.')) continue
      await abandonBelow(store, below)
      await clearContext(store, below, 'its caller went on')
    }
    cursor = page.next
  } while (cursor !== undefined)
}
