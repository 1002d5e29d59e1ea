/** The state of servers, for people and programs. */

export type ServerState = 'idle' | 'connecting' | 'connected' | 'failed' | 'closed'

export interface McpProblem {
  readonly server: string
  readonly message: string
}

export interface McpServerStatus {
  readonly name: string
  readonly transport: 'stdio' | 'http'
  readonly state: ServerState
  /** Why it is not connected. */
  readonly error?: string
  readonly protocolVersion?: string
  /** The number of its tools that an agent gets. */
  readonly tools: number
  /** The last problems: tools that were left out, bad messages, lost connections. */
  readonly problems: readonly string[]
  /** The end of its standard error. */
  readonly stderr?: string
  readonly pid?: number
}
