/** `holdfast acp`: the task agent, or an agent of the config, for an editor on standard input and output. */
import { resolve } from 'node:path'
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
import type { Plugin } from 'holdfast/plugins'
import { type LoadedTools, loadTools } from 'holdfast/toolbox'
import { EXIT } from '../exit-code.ts'
import { checkLanguageModel, hostedConfig, type ReadyAgent, readyAgent } from '../open-agent.ts'
import { wrongUsage } from '../refusal.ts'
import { newFolder, policyFrom } from '../task/task-options.ts'
import { type CommandContext, configOf, jsonOutput, workspaceOf } from './context.ts'

/** The conversations of tasks, as `holdfast task` names them. */
const TASK = 'task'

export async function acp(context: CommandContext): Promise<number> {
  const { args, cwd, env, stdin, out, foreign, version } = context
  if (stdin.isTTY)
    throw wrongUsage(
      'acp speaks JSON with the editor that starts it. Put "holdfast acp" into the settings of your editor: see docs/guide/acp.md',
    )
  const option = args.value('cwd')
  const folder = option === undefined ? undefined : newFolder(resolve(cwd, option))
  const policyIn = policyOption(context)
  // A policy that cannot be used is named before the editor opens a session.
  policyIn(folder ?? cwd)
  const workspace = await workspaceOf(context, configOf(context))
  const agent = args.value('agent')
  const ready = await readyAgent(workspace, { agent, model: args.value('model'), env })
  if (agent === undefined) checkLanguageModel(ready)
  const store = workspace.openStore('create')
  const modes = acpModes()
  const serving = { ready, store, modes, policyIn }
  const hosts = agent === undefined ? new TaskHosts(serving) : new AgentHost(serving, folder ?? cwd)
  try {
    const server = await serveAcp((session) => hosts.of(session), {
      ...hosts.options,
      ...(folder === undefined ? {} : { cwd: folder }),
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

/** The plugin of `--policy` for tools that work in a folder; none without the option. */
function policyOption({ args, cwd }: CommandContext): Serving['policyIn'] {
  const file = args.value('policy')
  return (folder) => (file === undefined ? [] : [policyFrom(resolve(cwd, file), folder)])
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
  readonly policyIn: (folder: string) => readonly Plugin[]
}

class AgentHost implements Hosts {
  readonly options: Hosts['options']
  readonly #host: Host

  /** @param folder of the paths in a policy */
  constructor({ ready, store, modes, policyIn }: Serving, folder: string) {
    this.options = { agent: ready.name }
    const { plugins = [], ...config } = hostedConfig(ready, store)
    const agent = { ...config, plugins: [...plugins, modes.plugin, ...policyIn(folder)] }
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
  readonly #serving: Serving
  readonly #hosts = new Map<string, Promise<Host>>()
  readonly #tools: LoadedTools[] = []

  constructor(serving: Serving) {
    this.#serving = serving
  }

  of({ cwd, mcpServers }: AcpSession): Promise<Host> {
    const name = JSON.stringify([cwd, mcpServers])
    const known = this.#hosts.get(name)
    if (known !== undefined) return known
    const host = this.#open(cwd, mcpServers)
    this.#hosts.set(name, host)
    // The next session may find what was missing.
    host.catch(() => this.#hosts.delete(name))
    return host
  }

  async close(): Promise<void> {
    const hosts = await Promise.allSettled(this.#hosts.values())
    const open = hosts.flatMap((host) => (host.status === 'fulfilled' ? [host.value] : []))
    await Promise.all(open.map((host) => host.shutdown()))
    await Promise.all(this.#tools.map((tools) => tools.close()))
  }

  async #open(cwd: string, servers: AcpSession['mcpServers']): Promise<Host> {
    const tools = await loadTools({
      cwd,
      ...(servers.length === 0 ? {} : { mcpServers: mcpConfig(servers) }),
    })
    try {
      const host = await this.#hostWith(tools, cwd)
      this.#tools.push(tools)
      return host
    } catch (error) {
      await tools.close()
      throw error
    }
  }

  async #hostWith(tools: LoadedTools, cwd: string): Promise<Host> {
    const { ready, store, modes, policyIn } = this.#serving
    const { choice, definition, mcp } = ready
    const agent = new TaskAgent({
      model: choice.model,
      ...(definition.settings === undefined ? {} : { settings: definition.settings }),
      tools: [...tools, ...((await mcp?.tools()) ?? [])],
      plugins: [modes.plugin, ...policyIn(cwd)],
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
