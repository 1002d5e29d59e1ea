/**
 * The agents of the config, or the built-in one, and the folder of conversations. The folder is created by the first
 * write.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { HoldfastError, type Store } from 'holdfast'
import { sqliteStore } from 'holdfast/sqlite'
import { builtinAgent } from './builtin/agent.ts'
import { configError, shownPath } from './config/config-errors.ts'
import type { AgentDefinition, HoldfastConfig, ResearchConfig } from './config/define-config.ts'
import { findConfig } from './config/find-config.ts'
import { loadConfig } from './config/load-config.ts'
import { homePath } from './home-path.ts'
import type { McpTools } from './mcp-tools.ts'
import { COMMAND_NAMES } from './names.ts'
import { didYouMean } from './nearest.ts'
import { unusable, wrongUsage } from './refusal.ts'
import { replaceJson } from './replace-json.ts'

export interface WorkspaceOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** `--config`. */
  readonly config?: string | undefined
}

const BUILTIN = 'assistant'

export class Workspace {
  readonly folder: string
  readonly configPath: string | undefined
  readonly agents: Readonly<Record<string, AgentDefinition>>
  readonly defaultAgent: string
  readonly serve: HoldfastConfig['serve']
  readonly research: ResearchConfig
  /** The MCP servers of the command, for all agents. */
  mcp: McpTools | undefined
  readonly #store: HoldfastConfig['store']

  private constructor(folder: string, config: HoldfastConfig & { default: string }, configPath?: string) {
    this.folder = folder
    this.configPath = configPath
    this.agents = config.agents
    this.defaultAgent = config.default
    this.#store = config.store
    this.serve = config.serve
    this.research = config.research ?? {}
  }

  static async load({ cwd, env, config }: WorkspaceOptions): Promise<Workspace> {
    const path = findConfig(cwd, config)
    const home = env['HOLDFAST_HOME']
    const folder = home
      ? resolve(cwd, homePath(home))
      : join(path === undefined ? resolve(cwd) : dirname(path), '.holdfast')
    if (path !== undefined) return new Workspace(folder, await loadConfig(path), path)
    const agents = { [BUILTIN]: builtinAgent(() => join(folder, 'notes')) }
    return new Workspace(folder, { agents, default: BUILTIN })
  }

  /** The names before the ids of conversations: agents, graphs and flows of the config, and those of commands. */
  get names(): readonly string[] {
    const { graphs = {}, flows = {} } = this.serve ?? {}
    return [...new Set([this.agents, graphs, flows].flatMap(Object.keys)), ...COMMAND_NAMES]
  }

  /** The name of `--agent`, or all. Throws if there is none of that name. */
  namesFrom(agent: string | undefined): readonly string[] {
    if (agent === undefined) return this.names
    return [this.names.includes(agent) ? agent : this.agent(agent).name]
  }

  /** The agent of this name, or the default one. */
  agent(name: string = this.defaultAgent): { readonly name: string; readonly definition: AgentDefinition } {
    const definition = Object.hasOwn(this.agents, name) ? this.agents[name] : undefined
    if (definition !== undefined) return { name, definition }
    const names = Object.keys(this.agents)
    throw wrongUsage(
      `There is no agent ${JSON.stringify(name)}.${didYouMean(name, names)} Agents are ${names.join(', ')}.`,
    )
  }

  /** `read` and `change` return undefined if there is no store yet; `create` makes the folder. */
  openStore(how: 'read' | 'change'): Store | undefined
  openStore(how: 'create'): Store
  openStore(how: 'read' | 'change' | 'create'): Store | undefined {
    if (this.#store !== undefined) return this.#openOwn(this.#store)
    const path = join(this.folder, 'holdfast.db')
    if (how === 'create') this.makeFolder()
    else if (!existsSync(path)) return undefined
    return sqliteStore(path, how === 'read' ? { readOnly: true } : {})
  }

  /** The store of the config. */
  #openOwn(own: NonNullable<HoldfastConfig['store']>): Store {
    const path = this.configPath ?? ''
    try {
      const store = typeof own === 'function' ? own() : own
      if (typeof (store as Partial<Store> | undefined)?.head === 'function') return store
    } catch (error) {
      const isStores = HoldfastError.is(error) && error.code.startsWith('store-')
      throw isStores ? error : configError(path, error, 'store: ')
    }
    throw unusable(
      `${shownPath(path)}: store must be a store, such as sqliteStore('my.db'), or a function that returns one; a promise is none.`,
    )
  }

  /** Reads before a command opens the store to write. A store that the config has opened stays open. */
  async peek<T>(read: (store: Store | undefined) => Promise<T>): Promise<T> {
    const store = this.openStore('read')
    try {
      return await read(store)
    } finally {
      if (store !== this.#store) await store?.close()
    }
  }

  get historyPath(): string {
    return join(this.folder, 'history')
  }

  /** The last open conversation with this agent. */
  lastContext(agent: string): string | undefined {
    return this.#readState()[agent]
  }

  rememberContext(agent: string, contextId: string): void {
    const state = { ...this.#readState(), [agent]: contextId }
    this.makeFolder()
    replaceJson(this.#statePath, { current: state })
  }

  /** Forgets a conversation that was erased. The last task is under `~task`. */
  forgetContext(contextId: string): void {
    const state = Object.entries(this.#readState())
    const left = state.filter(([agent, id]) => `${agent.replace(/^~/, '')}:${id}` !== contextId)
    if (left.length < state.length) replaceJson(this.#statePath, { current: Object.fromEntries(left) })
  }

  get #statePath(): string {
    return join(this.folder, 'state.json')
  }

  #readState(): Record<string, string> {
    try {
      const { current } = JSON.parse(readFileSync(this.#statePath, 'utf8')) as { current?: unknown }
      const entries = Object.entries(current as object).filter(([, id]) => typeof id === 'string')
      return Object.fromEntries(entries)
    } catch {
      return {}
    }
  }

  /** Makes the folder: private, and kept out of git. */
  makeFolder(): void {
    try {
      mkdirSync(this.folder, { recursive: true, mode: 0o700 })
      const ignore = join(this.folder, '.gitignore')
      if (!existsSync(ignore)) writeFileSync(ignore, '*\n')
    } catch (error) {
      const why = error instanceof Error ? error.message.split(',')[0] : String(error)
      throw unusable(
        `Conversations cannot be kept in ${this.folder} (${why}). Give this user access, or name another folder in HOLDFAST_HOME.`,
        error,
      )
    }
  }
}
