/** `holdfast acp`: the task agent, or an agent of the config, for an editor on standard input and output. */
import { resolve } from 'node:path'
import { Writable } from 'node:stream'
import type { Json, Store } from 'holdfast'
import {
  type AcpModes,
  type AcpPrompt,
  type AcpSession,
  acpModes,
  type ServeAcpOptions,
  serveAcp,
} from 'holdfast/acp'
import { TaskAgent, type TaskState } from 'holdfast/flows'
import { createHost, type Host } from 'holdfast/host'
import { type LoadedTools, loadTools } from 'holdfast/toolbox'
import { EXIT } from '../exit-code.ts'
import { checkLanguageModel, hostedConfig, type ReadyAgent, readyAgent } from '../open-agent.ts'
import { wrongUsage } from '../refusal.ts'
import { policyFrom } from '../task/task-options.ts'
import { type CommandContext, workspaceOf } from './context.ts'

/** The conversations of tasks, as `holdfast task` names them. */
const TASK = 'task'

export async function acp(context: CommandContext): Promise<number> {
  const { args, cwd, env, stdin, out, foreign, version } = context
  if (stdin.isTTY)
    throw wrongUsage(
      'acp speaks JSON with the editor that starts it. Put "holdfast acp" into the settings of your editor: see docs/guide/acp.md',
    )
  const workspace = await workspaceOf(context, args.words[0])
  const agent = args.value('agent')
  const ready = await readyAgent(workspace, { agent, model: args.value('model'), env })
  if (agent === undefined) checkLanguageModel(ready)
  const store = workspace.openStore('create')
  const modes = acpModes()
  const serving = { ready, store, modes }
  const hosts = agent === undefined ? new TaskHosts(context, serving) : new AgentHost(serving)
  try {
    const folder = args.value('cwd')
    const server = await serveAcp((session) => hosts.of(session), {
      ...hosts.options,
      ...(folder === undefined ? {} : { cwd: resolve(cwd, folder) }),
      version,
      modes,
      input: stdin,
      output: jsonOutput(out),
      httpMcp: agent === undefined,
      onError: (error) => foreign.print(error.message),
    })
    const end = (): void => server.close()
    process.once('SIGTERM', end).once('SIGINT', end)
    await server.closed
    process.off('SIGTERM', end).off('SIGINT', end)
    return EXIT.done
  } finally {
    await hosts.close()
    await Promise.all([store.close(), workspace.mcp?.close()])
  }
}

function jsonOutput(out: CommandContext['out']): Writable {
  return new Writable({
    write: (chunk: Buffer, _, done) => {
      for (const line of chunk.toString('utf8').split('\n')) if (line !== '') out.json(JSON.parse(line))
      done()
    },
  })
}

interface Hosts {
  readonly options: Pick<ServeAcpOptions, 'agent' | 'graphInput'>
  readonly of: (session: AcpSession) => Host | Promise<Host>
  readonly close: () => Promise<void>
}

interface Serving {
  readonly ready: ReadyAgent
  readonly store: Store
  readonly modes: AcpModes
}

class AgentHost implements Hosts {
  readonly options: Hosts['options']
  readonly #host: Host

  constructor({ ready, store, modes }: Serving) {
    this.options = { agent: ready.name }
    const { plugins = [], ...config } = hostedConfig(ready, store)
    const agent = { ...config, plugins: [...plugins, modes.plugin] }
    this.#host = createHost({ store, agents: { [ready.name]: agent } })
  }

  of(): Host {
    return this.#host
  }

  close(): Promise<void> {
    return this.#host.shutdown()
  }
}

/** A host for each folder: its tools work there alone. */
class TaskHosts implements Hosts {
  readonly options: Hosts['options'] = { agent: TASK, graphInput: taskInput }
  readonly #context: CommandContext
  readonly #serving: Serving
  readonly #hosts = new Map<string, Promise<Host>>()
  readonly #tools: LoadedTools[] = []

  constructor(context: CommandContext, serving: Serving) {
    this.#context = context
    this.#serving = serving
  }

  of({ cwd, mcpServers }: AcpSession): Promise<Host> {
    const name = JSON.stringify([cwd, mcpServers])
    const known = this.#hosts.get(name)
    if (known !== undefined) return known
    const host = this.#open(cwd, mcpServers)
    this.#hosts.set(name, host)
    return host
  }

  async close(): Promise<void> {
    const hosts = await Promise.allSettled(this.#hosts.values())
    const open = hosts.flatMap((host) => (host.status === 'fulfilled' ? [host.value] : []))
    await Promise.all(open.map((host) => host.shutdown()))
    await Promise.all(this.#tools.map((tools) => tools.close()))
  }

  async #open(cwd: string, servers: AcpSession['mcpServers']): Promise<Host> {
    const { args, cwd: here } = this.#context
    const { ready, store, modes } = this.#serving
    const { choice, definition, mcp } = ready
    const tools = await loadTools({
      cwd,
      ...(servers.length === 0 ? {} : { mcpServers: mcpConfig(servers) }),
    })
    this.#tools.push(tools)
    const policy = args.value('policy')
    const agent = new TaskAgent({
      model: choice.model,
      ...(definition.settings === undefined ? {} : { settings: definition.settings }),
      tools: [...tools, ...((await mcp?.tools()) ?? [])],
      plugins: [modes.plugin, ...(policy === undefined ? [] : [policyFrom(resolve(here, policy), cwd)])],
      cwd,
      store,
      verbose: false,
    })
    return createHost({ store, graphs: { [TASK]: await agent.compile() } })
  }
}

/** A further prompt of a session has the messages of those before. */
function taskInput({ text, content, state }: AcpPrompt) {
  const { messages = [] } = (state ?? {}) as Partial<TaskState>
  return { task: text, messages: [...messages, { role: 'user' as const, content }] }
}

type McpEntry = {
  readonly name: string
  readonly type?: string
  readonly url?: string
  readonly headers?: readonly { readonly name: string; readonly value: string }[]
  readonly command?: string
  readonly args?: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value: string }[]
}

/** The servers of an editor in the form of a config. */
function mcpConfig(servers: AcpSession['mcpServers']): Record<string, object> {
  const byName = (pairs: McpEntry['env'] = []): Record<string, Json> =>
    Object.fromEntries(pairs.map(({ name, value }) => [name, value]))
  return Object.fromEntries(
    (servers as unknown as readonly McpEntry[]).map(({ name, url, headers, command, args = [], env }) => [
      name,
      url === undefined ? { command, args, env: byName(env) } : { url, headers: byName(headers) },
    ]),
  )
}
