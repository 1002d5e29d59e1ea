/** Finds the conversations below another one, in a fork also those that were forked with it (R15, R17). */
import { type ContextKey, childKey } from '../protocol/index.ts'
import type { Head, Store } from '../store/index.ts'

/** Conversations that were erased are left out. */
export async function* subConversations(
  store: Pick<Store, 'list' | 'head'>,
  key: ContextKey,
): AsyncGenerator<Head> {
  const { contextId, ...owner } = key
  for (let cursor: string | undefined; ; ) {
    const page = await store.list({ owner, parent: contextId, ...(cursor === undefined ? {} : { cursor }) })
    for (const head of page.heads) if (head.parent?.kind === 'child') yield head
    cursor = page.next
    if (cursor === undefined) break
  }
  const { parent } = (await store.head(key)) ?? {}
  if (parent?.kind !== 'fork') return
  for await (const original of subConversations(store, { ...key, contextId: parent.contextId })) {
    const head = await store.head(childKey(key, nameBelow(original.key)))
    if (head?.parent?.kind === 'fork' && head.status !== 'erased') yield head
  }
}

/** The name of a conversation below its parent's. */
export function nameBelow({ contextId }: ContextKey): string {
  return contextId.slice(contextId.lastIndexOf('/') + 1)
}
