/** A node that reads the messages of a graph's state and appends to them. */
import type { Runnable } from '../drive/index.ts'
import type { Message } from '../protocol/index.ts'

/** The channel that such a node reads and updates, unless its options say otherwise. */
export const MESSAGES = 'messages'

export interface MessagesNode extends Runnable<readonly Message[], readonly Message[]> {
  readonly '~channel': string
}
