/** Messages to remote agents and files of theirs, in words that need no package. */
import type { Json } from '../protocol/index.ts'

/** A message to a remote agent. */
export interface RemoteMessage {
  readonly text?: string
  readonly data?: Json
  readonly files?: readonly RemoteFile[]
}

/** `url`, or the content itself. */
export interface RemoteFile {
  readonly name?: string
  readonly mediaType?: string
  readonly url?: string
  readonly content?: string | Uint8Array
}
