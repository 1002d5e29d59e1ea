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
  await conversation.cancel(reason, options.turn)
}
