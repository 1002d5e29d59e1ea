/** A strict check of transcripts of any source (R9, R10). */
import type { Message } from '../../src/protocol/index.ts'

/** The first violation; undefined if there is none. */
export function illegal(messages: readonly Message[]): string | undefined {
  const seen = new Set<string>()
  if (messages.length > 0 && messages[0]?.role !== 'user') return 'nobody speaks first'
  for (const [index, message] of messages.entries()) {
    const before = messages[index - 1]
    if (message.content.length === 0) return `message ${index} is empty`
    if (message.role === 'user') {
      if (typeof message.content === 'string' && message.content.trim() === '')
        return `message ${index} is blank`
      continue
    }
    if (message.role === 'tool') {
      if (before?.role !== 'assistant') return `the results of message ${index} follow no reply`
      continue
    }
    const asked = message.content.flatMap((part) => (part.type === 'tool-call' ? [part] : []))
    for (const { callId } of asked) {
      if (callId === '' || seen.has(callId)) return `the id ${callId} is used twice`
      seen.add(callId)
    }
    const next = messages[index + 1]
    const answered = next?.role === 'tool' ? next.content : []
    const wanted = asked.map(({ callId, tool }) => `${callId} ${tool}`).join()
    if (answered.map(({ callId, tool }) => `${callId} ${tool}`).join() !== wanted)
      return `the calls of message ${index} are not answered right after it`
  }
  return undefined
}
