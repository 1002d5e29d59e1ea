/**
 * The scene with an agent of LangChain on LangGraph.js and its SQLite saver. The variant is its durability mode. The
 * packages are in the lock file of this folder, not in that of the project, so they are loaded by name and only what is
 * used of them is described here.
 */
import { join } from 'node:path'
import { z } from 'zod'
import {
  AFTERWARDS,
  ASKED,
  CHANGED_MIND,
  partOf,
  perform,
  recordRequest,
  reply,
  TOOLS,
  tellFinal,
} from './scene.ts'

interface PeerMessage {
  readonly type: string
  readonly content: unknown
}

interface PeerAgent {
  invoke(input: unknown, config: object): Promise<unknown>
  readonly graph: {
    getState(config: object): Promise<{ readonly values: { messages: readonly PeerMessage[] } }>
  }
}

interface PeerModel {
  invoke(messages: readonly PeerMessage[]): Promise<unknown>
  bindTools(tools: readonly unknown[]): PeerModel
}

interface Peer {
  readonly createAgent: (config: object) => PeerAgent
  readonly tool: (run: () => Promise<string>, about: object) => unknown
  readonly BaseChatModel: abstract new (fields: object) => object
  readonly AIMessage: new (fields: object) => PeerMessage
  readonly SqliteSaver: { fromConnString(path: string): unknown }
  readonly ChatAnthropic: new (fields: object) => PeerModel
}

const NAMES: readonly string[] = [
  'langchain',
  '@langchain/core/tools',
  '@langchain/core/language_models/chat_models',
  '@langchain/core/messages',
  '@langchain/langgraph-checkpoint-sqlite',
  '@langchain/anthropic',
]

const peer = Object.assign(
  {},
  ...(await Promise.all(NAMES.map((name) => import(name) as Promise<object>))),
) as Peer

const part = partOf(process.argv)
const thread = { configurable: { thread_id: 'scene' }, durability: part.variant }
const tools = TOOLS.map((name) =>
  peer.tool(() => perform(name, part), { name, description: `does ${name}`, schema: z.object({}) }),
)

/** Sends nothing: the body is all that is wanted of it. */
const anthropic = new peer.ChatAnthropic({
  model: 'claude-sonnet-4-5',
  apiKey: 'none',
  maxRetries: 0,
  clientOptions: {
    fetch: (_: unknown, init?: { readonly body?: unknown }) => {
      recordRequest(part, JSON.parse(String(init?.body)))
      return Promise.reject(new Error('captured'))
    },
  },
}).bindTools(tools)

class Scripted extends peer.BaseChatModel {
  bindTools(): this {
    return this
  }

  _llmType(): string {
    return 'scripted'
  }

  async _generate(messages: readonly PeerMessage[]): Promise<object> {
    await anthropic.invoke(messages).catch(() => {})
    const last = messages.findLastIndex(({ type }) => type === 'human')
    const replied = messages.slice(last + 1).filter(({ type }) => type === 'ai').length
    const step = reply(String(messages[last]?.content), replied)
    const fields =
      typeof step === 'string'
        ? { content: step }
        : {
            content: '',
            tool_calls: step.calls.map((name) => ({
              name,
              args: {},
              id: `toolu_${name}`,
              type: 'tool_call',
            })),
          }
    return { generations: [{ text: '', message: new peer.AIMessage(fields) }] }
  }
}

const agent = peer.createAgent({
  model: new Scripted({}),
  tools,
  checkpointer: peer.SqliteSaver.fromConnString(join(part.folder, 'langgraph.db')),
})
const errors: string[] = []

async function run(what: string | undefined): Promise<void> {
  const input = what === undefined ? null : { messages: [{ role: 'user', content: what }] }
  try {
    await agent.invoke(input, thread)
  } catch (error) {
    errors.push((error as Error).message)
  }
}

if (part.act === 'crash') await run(ASKED)
else {
  await run(part.act === 'resume' ? undefined : CHANGED_MIND)
  await run(AFTERWARDS)
  const { values } = await agent.graph.getState(thread)
  const of = (type: string) =>
    values.messages.flatMap((message) => (message.type === type ? [String(message.content)] : []))
  tellFinal({ users: of('human'), results: of('tool'), errors })
}
