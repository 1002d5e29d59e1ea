/**
 * `xray`: the turn around the running tool, from anywhere in its code. Empty outside of a tool, and after it has ended:
 * code that a tool leaves running sees nothing.
 */
import type { Message, TraceEntry } from '../protocol/index.ts'
import { callsAround } from './run-call.ts'
import type { PreviousTool, ToolContext } from './tool.ts'

/** The part of the turn that a tool's context does not have. */
export interface XraySource {
  /** The name of the agent. */
  readonly agent: string
  readonly messages: () => readonly Message[]
  readonly trace: () => readonly TraceEntry[]
}

export const XRAY: unique symbol = Symbol('xray')

type Traced = ToolContext & { readonly [XRAY]: XraySource }

function around(): Traced | undefined {
  const [context] = callsAround()
  return context !== undefined && XRAY in context ? (context as Traced) : undefined
}

export interface Xray {
  /** The name of the agent whose tool runs; undefined outside of a tool. */
  readonly agent: string | undefined
  /** The input text of the turn. */
  readonly task: string | undefined
  /** Model calls begun in this turn. */
  readonly iteration: number | undefined
  /** The messages of the next prompt, as far as they are there. */
  readonly messages: readonly Message[]
  /** The settled calls of this turn, oldest first. */
  readonly previousTools: readonly PreviousTool[]
  /** The trace of this turn; the running tool is its last `tool_execution`. */
  trace(): readonly TraceEntry[]
}

export const xray: Xray = {
  get agent() {
    return around()?.[XRAY].agent
  },
  get task() {
    return around()?.task
  },
  get iteration() {
    return around()?.iteration
  },
  get messages() {
    return around()?.[XRAY].messages() ?? []
  },
  get previousTools() {
    return around()?.previousTools ?? []
  },
  trace: () => around()?.[XRAY].trace() ?? [],
}
