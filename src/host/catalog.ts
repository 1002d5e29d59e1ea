/** The agents, graphs and flows of a host by name, and how a conversation with one is opened. */
import type { AgentConfig } from '../agent/index.ts'
import { debugThrown } from '../base/index.ts'
import { givenFolders } from '../observe/index.ts'
import {
  type ContextKey,
  contextKey,
  HoldfastError,
  invalidOption,
  isObject,
  type Principal,
  quote,
  shown,
} from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import {
  type Hosted,
  type HostedAgent,
  HostedAgentConversation,
  type HostedFlow,
  type HostedGraph,
  HostedGraphConversation,
  type HostSession,
  hostedTools,
} from './hosted.ts'
import { Names } from './names.ts'
import { type Trust, TrustRules } from './trust.ts'

export interface CatalogConfig extends Pick<AgentConfig, 'clock' | 'timer' | 'ids'> {
  readonly store: Store
  readonly agents?: Readonly<Record<string, HostedAgent>>
  readonly graphs?: Readonly<Record<string, HostedGraph>>
  readonly flows?: Readonly<Record<string, HostedFlow>>
  readonly default?: string
  readonly trust?: Trust
  readonly allow?: (principal: Principal, key: ContextKey) => boolean
}

type Entry = { readonly agent: HostedAgent } | GraphEntry

interface GraphEntry {
  readonly graph: () => Promise<HostedGraph>
  readonly flow?: HostedFlow
}

/** The name of a conversation's agent, graph or flow, and the last two. */
export interface Named extends Partial<GraphEntry> {
  readonly name: string
}

export class Catalog {
  readonly #config: CatalogConfig
  readonly #names: Names<Entry>
  /** By name; the host's own for graphs, flows and agents that are made by a function. */
  readonly #trust: ReadonlyMap<string, TrustRules>
  readonly #hostTrust: TrustRules
  /** The folders that the configs of agents name for their logs, those of functions once they were called. */
  readonly #logFolders = new Set<string>()

  constructor(config: CatalogConfig) {
    const { agents = {}, graphs = {}, flows = {}, store } = config
    this.#config = config
    this.#names = new Names<Entry>(
      [
        ...Object.entries(agents).map(([name, agent]) => [name, hostedAgent(name, agent)] as const),
        ...Object.entries(graphs).map(([name, graph]) => [name, hostedGraph(name, graph, store)] as const),
        ...Object.entries(flows).map(([name, flow]) => [name, hostedFlow(name, flow, store)] as const),
      ],
      config.default,
    )
    this.#hostTrust = new TrustRules(config.trust)
    this.#trust = new Map(
      Object.entries(agents).flatMap(([name, agent]) =>
        typeof agent === 'object' && agent.trust !== undefined ? [[name, new TrustRules(agent.trust)]] : [],
      ),
    )
    for (const agent of Object.values(agents)) if (typeof agent === 'object') this.#noteLogs(agent)
  }

  get names(): readonly string[] {
    return this.#names.all
  }

  /** The rules of trust for one of the names. */
  trustOf(name: string): TrustRules {
    return this.#trust.get(name) ?? this.#hostTrust
  }

  /** Those of `names` that are graphs or flows. */
  get graphs(): readonly string[] {
    return this.names.filter((name) => 'graph' in (this.#names.get(name) as Entry))
  }

  /** Those of `names` that take values, and no messages. */
  get valueGraphs(): readonly string[] {
    return this.graphs.filter((name) => !('flow' in (this.#names.get(name) as Entry)))
  }

  /** The id of a conversation with one of the names. */
  contextId(name: string, id: string): string {
    this.checkName(name)
    return this.#names.contextId(name, id)
  }

  /** Throws if there is none of that name. */
  checkName(name: string): void {
    if (this.#names.get(name) === undefined) throw this.#unknown(name)
  }

  /** The agent, graph or flow of a conversation. Throws `not-found` for one that is not here. */
  nameOf(contextId: string): string {
    return this.#entry(contextId).name
  }

  /** As `nameOf`, with undefined for a conversation that is not here. */
  find(contextId: string): Named | undefined {
    const found = isTop(contextId) ? this.#names.find(contextId) : undefined
    if (found === undefined) return undefined
    return { name: found.name, ...('graph' in found.entry ? found.entry : {}) }
  }

  /** The key, if it is of a conversation that can be opened here: none below another. */
  checked(key: ContextKey): ContextKey {
    const checked = contextKey(key)
    this.#entry(checked.contextId)
    return checked
  }

  async open(key: ContextKey): Promise<Hosted> {
    const { name, entry } = this.#entry(key.contextId)
    if ('graph' in entry) {
      const approvals = this.trustOf(name).approvals(name)
      return new HostedGraphConversation({ graph: await entry.graph(), key, flow: entry.flow, approvals })
    }
    const { agent } = entry
    const { allow, clock, timer, ids, store } = this.#config
    const { contextId, tenant, actor } = key
    const { trust, plugins = [], ...given } = typeof agent === 'function' ? await agent(key) : agent
    if (typeof agent === 'function' && trust !== undefined) throw trustOfFunction(name)
    checkOwnFields(name, given)
    this.#noteLogs(given)
    return new HostedAgentConversation({
      name,
      ...given,
      plugins: [...plugins, this.trustOf(name).plugin(name)],
      contextId,
      owner: { tenant, actor },
      store,
      ...(allow === undefined ? {} : { allow: (principal: Principal) => allow(principal, key) }),
      ...(clock === undefined ? {} : { clock }),
      ...(timer === undefined ? {} : { timer }),
      ...(ids === undefined ? {} : { ids }),
    })
  }

  /** The folders that the configs of agents name for their logs, as far as they are known. */
  get logFolders(): readonly string[] {
    return [...this.#logFolders]
  }

  /** Learns the folders of a conversation's logs. A function that throws has no agent that could have written some here. */
  async learnLogs(key: ContextKey): Promise<void> {
    const { entry } = this.#entry(key.contextId)
    if ('graph' in entry || typeof entry.agent !== 'function') return
    try {
      this.#noteLogs(await entry.agent(key))
    } catch (error) {
      debugThrown('The function of an agent', error)
    }
  }

  #noteLogs(config: Pick<AgentConfig, 'log' | 'sessions'>): void {
    for (const folder of givenFolders(config)) this.#logFolders.add(folder)
  }

  /** The tools of an agent; undefined if they are not known, and for a graph. */
  async toolsOf(name: string, session?: HostSession): ReturnType<typeof hostedTools> {
    const entry = this.#names.get(name)
    return entry === undefined || 'graph' in entry ? undefined : hostedTools(entry.agent, session)
  }

  #entry(contextId: string): { readonly name: string; readonly entry: Entry } {
    const found = isTop(contextId) ? this.#names.find(contextId) : undefined
    if (found !== undefined) return found
    if (isTop(contextId)) throw this.#unknown(contextId.split(':')[0] ?? '')
    throw new HoldfastError('not-found', {
      message: `${quote(contextId)} is no conversation of its own: an agent, a graph or the runtime uses it.`,
    })
  }

  #unknown(name: string): HoldfastError {
    return new HoldfastError('not-found', {
      message: `This host has no agent or graph ${quote(name)}. It has ${this.names.map((each) => quote(each)).join(', ')}.`,
      details: { agent: name },
    })
  }
}

/** Refused, not ignored: an agent that is meant to be strict would answer everybody. */
function trustOfFunction(name: string): HoldfastError {
  return new HoldfastError('invalid-option', {
    message: `The function of the agent ${quote(name)} returns trust, which is decided before a conversation opens. Write it on the host: createHost({ trust: { decide: ({ name, principal }) => … } }), or make the agent an object.`,
  })
}

/** Conversations below others are driven by these; a person's state and grants, whose names begin with `~`, are none. */
function isTop(contextId: string): boolean {
  return !contextId.includes('/') && !contextId.startsWith('~')
}

function hostedGraph(name: string, graph: HostedGraph, store: Store): GraphEntry {
  checkGraph(name, graph, store)
  const ready = Promise.resolve(graph)
  return { graph: () => ready }
}

/** A flow is built once, when its first conversation is opened; a failure is not kept. */
function hostedFlow(name: string, flow: HostedFlow, store: Store): GraphEntry {
  if (!isObject(flow) || typeof flow.build !== 'function' || typeof flow.values !== 'function')
    throw new HoldfastError('invalid-option', {
      message: `The flow ${quote(name)} has no build(store) and values(message). A compiled graph belongs to graphs.`,
    })
  let built: Promise<HostedGraph> | undefined
  const build = async (): Promise<HostedGraph> => {
    try {
      const graph = await flow.build(store)
      checkGraph(name, graph, store)
      return graph
    } catch (error) {
      built = undefined
      throw error
    }
  }
  return {
    graph: () => {
      built ??= build()
      return built
    },
    flow,
  }
}

function hostedAgent(name: string, agent: HostedAgent): { readonly agent: HostedAgent } {
  if (isObject(agent)) checkOwnFields(name, agent)
  if (isObject(agent) || typeof agent === 'function') return { agent }
  throw invalidOption(
    `The agent ${quote(name)}`,
    `must be a config or a function of the session that gives one, not ${shown(agent)}`,
  )
}

const OF_THE_HOST: readonly string[] = ['contextId', 'owner', 'store', 'allow', 'clock', 'timer', 'ids']

/** Refused, not ignored: an agent with a store of its own would be expected to use it. */
function checkOwnFields(name: string, config: object): void {
  const field = OF_THE_HOST.find((each) => (config as Readonly<Record<string, unknown>>)[each] !== undefined)
  if (field !== undefined)
    throw invalidOption(`${field} of the agent ${quote(name)}`, 'is set by the host: leave it out')
}

function checkGraph(name: string, graph: HostedGraph, store: Store): void {
  if (!isObject(graph) || !('store' in graph))
    throw invalidOption(`The graph ${quote(name)}`, `must be a compiled graph, not ${shown(graph)}`)
  if (graph.store !== store)
    throw new HoldfastError('invalid-option', {
      message: `The graph ${quote(name)} has another store than the host. Compile it with compile({ store }).`,
    })
}
