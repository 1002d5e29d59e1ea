/** Cancels the running turn of a conversation, or one turn by its number. */
import { type Conversation, checkReason } from '../drive/index.ts'
import { checkOptions, type OptionSet } from '../protocol/index.ts'

export interface CancelOptions {
  /** The number of the turn. Default: the one that runs, or the last one if it waits. */
  readonly turn?: number
}

const CANCEL: OptionSet<CancelOptions> = { place: 'cancel()', options: { turn: 'a number' } }

export async function cancel(
  conversation: Conversation,
  reason: string | undefined,
  options: CancelOptions,
): Promise<void> {
  checkReason(reason)
  checkOptions(options, CANCEL)
  if (options.turn === undefined) await conversation.cancel(reason)
  else await cancelTurn(conversation, options.turn, reason)
}

/** No other turn is cancelled. This one may run in any process, wait, or have a caller here and not have begun. */
async function cancelTurn(conversation: Conversation, turn: number, reason?: string): Promise<void> {
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
