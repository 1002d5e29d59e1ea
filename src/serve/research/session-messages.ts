/** The newest messages of a session, as people saw them: questions and answers, with their times, read from the journal. */
import type { Host } from '../../host/index.ts'
import type { ContextKey, Entry, JsonObject } from '../../protocol/index.ts'

export interface SessionMessage {
  readonly role: 'user' | 'assistant'
  readonly content: string
  readonly at: string
}

const PAGE = 500
const MOST_MESSAGES = 200

/** Oldest first. */
export async function sessionMessages(host: Host, key: ContextKey): Promise<readonly SessionMessage[]> {
  const found: SessionMessage[] = []
  let to = Number.MAX_SAFE_INTEGER
  while (to > 0 && found.length < MOST_MESSAGES) {
    const page = await host.reads.entries(key, { to, limit: PAGE, order: 'newest' })
    for (const entry of page) found.push(...messagesIn(entry).toReversed())
    to = page.length < PAGE ? 0 : (page.at(-1)?.seq ?? 1) - 1
  }
  return found.slice(0, MOST_MESSAGES).toReversed()
}

function messagesIn({ type, data, at }: Entry): readonly SessionMessage[] {
  const update = Object(data['update']) as JsonObject
  const time = new Date(at).toISOString()
  if (type === 'node.end' && typeof update['final_answer'] === 'string')
    return [{ role: 'assistant', content: update['final_answer'], at: time }]
  if (type !== 'graph.start' || !Array.isArray(update['messages'])) return []
  return (update['messages'] as readonly JsonObject[]).flatMap(({ role, content }) =>
    role === 'user' && typeof content === 'string' ? [{ role, content, at: time }] : [],
  )
}
