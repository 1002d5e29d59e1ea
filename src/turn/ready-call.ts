/** A call of a round that may start. */
import type { Call } from '../journal/index.ts'
import type { Tool } from '../tool/index.ts'

export interface ReadyCall {
  readonly call: Call
  readonly tool: Tool
  readonly input: unknown
  readonly argsKey: string
}
