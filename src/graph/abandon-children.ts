/** Ends children of abandoned tasks: their waits are over. */
import { clearContext } from '../journal/index.ts'
import { type ContextKey, defined } from '../protocol/index.ts'
import type { ListPage, Store } from '../store/index.ts'

/** Clears every waiting child of the task, recursively. Running children are cancelled with their caller. */
export async function abandonChildren(store: Store, key: ContextKey, task = ''): Promise<void> {
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
      // The name of the tenth task begins like the first's.
      if (task !== '' && rest !== '' && !rest.startsWith('.')) continue
      await abandonChildren(store, below)
      await clearContext(store, below, 'its caller went on')
    }
    cursor = page.next
  } while (cursor !== undefined)
}
