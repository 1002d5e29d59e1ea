/** A run as a graph gets it. Public, so it names no type of the protocol's package. */
import type { UserContent } from '../../protocol/index.ts'

export interface GraphRunInput {
  readonly threadId: string
  readonly runId: string
  /** The newest message of the person, if there is one. */
  readonly message?: UserContent
  /** The state that the client has. */
  readonly state: unknown
  readonly forwardedProps: unknown
}
