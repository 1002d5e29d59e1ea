/** The key and the file of the tour's conversation. */
import { type ContextKey, contextKey, LOCAL_OWNER } from 'holdfast'

export const CONTEXT_ID = 'tour'
export const JOURNAL = 'holdfast.db'
export const KEY: ContextKey = contextKey({ ...LOCAL_OWNER, contextId: CONTEXT_ID })
