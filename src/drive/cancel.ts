/** Cancels of a conversation's turns: of one by its number, and of those that wait for a hook of the program. */
import type { Session } from '../journal/index.ts'
import type { TurnView } from './turn.ts'

interface CancellableConversation {
  readonly driver: {
    readonly journal: { readonly session: Session }
    readonly ownership: { refresh(): Promise<void> }
  }
  /** The running or next turn that has a subscriber here. */
  readonly turn: TurnView | undefined
  between<T>(work: () => Promise<T>): Promise<T>
  postCancel(turn: number, reason?: string): Promise<void>
  attach(): Promise<unknown>
  whenIdle(): Promise<void>
}

/** Cancels this turn and no other. It may run in any process, wait, or have a caller here and not have begun. */
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

/** Cancels without waiting for `onLoaded`; false for a turn that waits: to end it, the pump must run. */
export async function cancelUnready(
  conversation: CancellableConversation,
  turn?: number,
  reason?: string,
): Promise<boolean> {
  const { journal, ownership } = conversation.driver
  await ownership.refresh()
  const { open, parked, turn: newest } = journal.session
  const isNewest = turn === undefined || turn === newest
  const next = conversation.turn
  if (open !== undefined && isNewest) await conversation.postCancel(newest, reason)
  else if (next !== undefined && (turn === undefined || turn > newest)) await next.cancel(reason)
  else return parked === undefined || !isNewest
  return true
}
