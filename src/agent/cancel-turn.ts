/** Cancels one turn of a conversation by its number, and no other. */
import type { Conversation } from '../drive/index.ts'

/** The turn may run in any process, wait, or have a caller here and not have begun. */
export async function cancelTurn(conversation: Conversation, turn: number, reason?: string): Promise<void> {
  const { journal, ownership } = conversation.driver
  let posted: 'open' | 'waiting' | undefined
  await conversation.between(async () => {
    const { open, parked, turn: newest } = journal.session
    if (newest !== turn || (open ?? parked) === undefined) return
    await ownership.post([conversation.cancelPost(turn, reason)])
    posted = open === undefined ? 'waiting' : 'open'
  })
  if (posted === 'open') return
  if (posted === 'waiting') {
    await conversation.attach()
    return conversation.whenIdle()
  }
  const next = conversation.turn
  const isUnbegun = next?.number === 0 && journal.session.turn < turn
  if (isUnbegun || next?.number === turn) await next?.cancel(reason)
}
