/**
 * An agent as an MCP server: one tool sends a message, another answers a request. Conversations are the agent's own, so they
 * outlive the connection. Knows agents by their shape only.
 */
import type { Readable, Writable } from 'node:stream'
import { checkOptions, type OptionSet } from '../protocol/index.ts'
import { agentTools } from './agent-tools.ts'
import { serverSdk } from './sdk.ts'
import { Conversations, type ServedAgent } from './served-agent.ts'

export interface ServeAgentOptions {
  /** The name of the agent. */
  readonly name: string
  readonly version: string
  /** For the model of the client: what the agent does, and when to use it. */
  readonly description?: string
  /** Opens the agent in this conversation. It is shut down after each call. */
  readonly open: (conversation: string) => ServedAgent | Promise<ServedAgent>
  readonly input: Readable
  readonly output: Writable
  /** Called with errors that no call of the client gets, such as those of the connection. */
  readonly onError?: (error: Error) => void
}

export interface AgentServer {
  /** Resolves when the client has closed the connection, and the last call has ended. */
  readonly closed: Promise<void>
  readonly close: () => Promise<void>
}

const OPTIONS: OptionSet<ServeAgentOptions> = {
  place: 'serveAgent()',
  options: {
    name: 'a text',
    version: 'a text',
    description: 'a text',
    open: 'a function',
    input: 'an object',
    output: 'an object',
    onError: 'a function',
  },
}

/** Serves an agent over two streams, such as standard input and output, in the older and the newest protocol. */
export async function serveAgent(options: ServeAgentOptions): Promise<AgentServer> {
  checkOptions(options, OPTIONS)
  const sdk = await serverSdk()
  const conversations = new Conversations(options.open, options.onError ?? (() => {}))
  const transport = new sdk.StdioServerTransport(options.input, options.output)
  const ended = Promise.withResolvers<void>()
  const end = (): void => {
    conversations.isClosing = true
    ended.resolve()
  }
  for (const event of ['end', 'close', 'error']) options.input.once(event, end)
  const handle = sdk.serveStdio(() => agentTools(sdk, options, conversations), {
    transport,
    ...(options.onError === undefined ? {} : { onerror: options.onError }),
  })
  const close = async (): Promise<void> => {
    end()
    await handle.close()
    await conversations.idle()
  }
  return { close, closed: ended.promise.then(close) }
}
