/** A prompt as a graph gets it. Public, so it names no type of the protocol's package. */
import type { UserContent } from '../../protocol/index.ts'

export interface AcpPrompt {
  readonly text: string
  readonly content: UserContent
  /** The state that the prompt before has reached; undefined for the first. */
  readonly state?: unknown
}
