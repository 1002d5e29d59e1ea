/** Cancels one turn of a conversation by its number, and no other. */
import type { Session } from '../journal/index.ts'
import type { TurnView } from './turn.ts'

interface CancellableConversation {
  readonly driver: { readonly journal: { readonly session: Session } }
  /** The running or next turn that has a subscriber here. */
  readonly turn: TurnView | undefined
  between<T>(work: () => Promise<T>): Promise<T>
  postCancel(turn: number, reason?: string): Promise<void>
  attach(): Promise<unknown>
  whenIdle(): Promise<void>
}

/** The turn may run in any process, wait, or have a caller here and not have begun. */
export async function cancelNumber(
  conversation: CancellableConversation,
  turn: number,
  reason?: string,
): Promise<void> {
  const { journal } = conversation.driver
  const posted = await conversation.between(async () => {
    const { open, parked, turn: newest } = journal.session
    if (newest !== turn || (open ?? parked) === undefined) return undefined
    await conversation.postCancel(turn, reason)
    return open === undefined ? 'waiting' : 'open'
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
