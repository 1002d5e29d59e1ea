/** Defines a graph in the verbs that users of LangGraph know. Runs nothing. */
import type { Runnable } from '../drive/index.ts'
import { atLeast, checkMs, checkOptions, defined, type Json, quote, shown } from '../protocol/index.ts'
import { isStandardSchema, type SchemaInput, type SchemaOutput, type StandardSchema } from '../tool/index.ts'
import type { Channels, StateOf, UpdateOf } from './channel.ts'
import { checkGraph } from './check.ts'
import { childNode, type Mapping } from './child-node.ts'
import {
  type Branch,
  type Edge,
  END,
  type GraphDefinition,
  type NodeContext,
  type NodeDefinition,
  type NoOther,
  type RetryPolicy,
  type RouteContext,
  type Routed,
  START,
} from './definition.ts'
import { Graph } from './graph.ts'
import {
  type FunctionOptions,
  GRAPH_CONFIG,
  type GraphConfig,
  type GraphOptions,
  NODE,
  type NodeOptions,
  RETRY,
  RUNNABLE,
  type RunnableOptions,
} from './graph-options.ts'
import { invalid } from './invalid.ts'

type NodeUpdate<C extends Channels> = UpdateOf<C> | undefined | void

export type NodeFunction<C extends Channels, Input = Json | undefined> = (
  state: StateOf<C>,
  context: NodeContext<Input>,
) => NodeUpdate<C> | Promise<NodeUpdate<C>>

/** A node whose updates name only channels of the state. */
type ExactNode<C extends Channels, U, Input> = (
  state: StateOf<C>,
  context: NodeContext<Input>,
) => (U & NoOther<U, C>) | Promise<U & NoOther<U, C>>

/**
 * @example
 * const flow = graph({ state: { question: value<string>(), notes: list<string>(), answer: value<string>() } })
 *   .addNode('research', async ({ question }) => ({ notes: await lookUp(question) }))
 *   .addNode('write', ({ notes }) => ({ answer: notes.join('\n') }))
 *   .addEdge(START, 'research')
 *   .addEdge('research', 'write')
 *   .addEdge('write', END)
 *   .compile({ store })
 */
export function graph<C extends Channels>(config: GraphConfig<C>): GraphBuilder<C, never> {
  return new GraphBuilder(config)
}

/** The schema of a node without one: any JSON, or nothing. */
type AnyInput = StandardSchema<Json, Json | undefined>

/**
 * `Nodes`: the names added so far, so that an edge to any other is a type error. `Inputs`: what a `Send` may bring to each
 * of them.
 */
export class GraphBuilder<C extends Channels, Nodes extends string, Inputs = object> {
  readonly #name: string
  readonly #channels: C
  readonly #nodes = new Map<string, NodeDefinition>()
  readonly #edges: Edge[] = []
  readonly #branches: Branch[] = []

  constructor(config: GraphConfig<C>) {
    const { name = 'graph', state } = config ?? {}
    if (typeof state !== 'object' || state === null)
      throw invalid(
        'invalid-graph',
        'a graph takes { state }, an object of channels such as { question: value() }',
      )
    checkOptions(config, GRAPH_CONFIG)
    for (const [channel, one] of Object.entries(state)) {
      // Assigning it on a plain object sets the prototype.
      if (channel === '__proto__') throw invalid('invalid-graph', 'a channel cannot be called __proto__')
      if (one?.kind === undefined)
        throw invalid(
          'invalid-graph',
          `the state's ${channel} is no channel; use value(), constant(), list(), merge() or reduce()`,
        )
    }
    this.#name = name
    this.#channels = state
  }

  /** One signature, not overloads: a compiler that reports only the last overload would hide a wrong return type. */
  addNode<
    Name extends string,
    U extends NodeUpdate<C>,
    I = never,
    O = never,
    S extends StandardSchema = AnyInput,
  >(
    name: Name,
    node: ExactNode<C, U, SchemaOutput<S>> | Runnable<I, O>,
    options: RunnableOptions<C, I, O> | FunctionOptions<S> = {},
  ): GraphBuilder<C, Nodes | Name, Inputs & Readonly<Record<Name, SchemaInput<S>>>> {
    checkNodeName(name, this.#nodes)
    const isRunnable = typeof node === 'object' && node !== null && '~run' in node
    checkOptions(options, { place: `Node ${name}`, ...(isRunnable ? RUNNABLE : NODE) })
    const { retry, timeoutMs } = options
    if (timeoutMs !== undefined) checkMs(`timeoutMs of ${name}`, timeoutMs, 1)
    if (!isRunnable && typeof node !== 'function')
      throw invalid(
        'invalid-graph',
        `node ${name} is neither a function nor an agentNode() nor a compiled graph`,
      )
    this.#nodes.set(name, {
      name,
      retry: retryPolicy(name, retry),
      ...defined({ timeoutMs }),
      ...(isRunnable
        ? childNode(this.#channels, node, options as Mapping)
        : { run: node, ...inputSchema(name, options.input) }),
    })
    return this as GraphBuilder<C, Nodes, Inputs & Readonly<Record<Name, SchemaInput<S>>>>
  }

  /** From several nodes: fires when all of them have ended, in whichever steps. */
  addEdge(
    from: Nodes | typeof START | readonly Nodes[],
    to: Nodes | typeof END,
  ): GraphBuilder<C, Nodes, Inputs> {
    this.#edges.push({ from: [from].flat(), to })
    return this
  }

  /**
   * `route` reads the state and returns the next node. `paths`: the target of each answer. The overload with names is
   * last: some compilers report only the last one.
   */
  addConditionalEdges(
    from: Nodes | typeof START,
    route: (
      state: StateOf<C>,
      context: RouteContext,
    ) => Routed<Nodes | typeof END, Inputs> | Promise<Routed<Nodes | typeof END, Inputs>>,
    paths?: readonly (Nodes | typeof END)[],
  ): GraphBuilder<C, Nodes, Inputs>
  addConditionalEdges<Answer extends string>(
    from: Nodes | typeof START,
    route: (state: StateOf<C>, context: RouteContext) => Routed<Answer> | Promise<Routed<Answer>>,
    paths: Readonly<Record<Answer, Nodes | typeof END>> & Readonly<Record<string, Nodes | typeof END>>,
  ): GraphBuilder<C, Nodes, Inputs>
  addConditionalEdges(
    from: string,
    route: Branch['route'],
    paths?: Readonly<Record<string, string>> | readonly string[],
  ): GraphBuilder<C, Nodes, Inputs> {
    if (typeof route !== 'function') throw invalid('invalid-graph', `the route after ${from} is no function`)
    const targets = Array.isArray(paths)
      ? Object.fromEntries((paths as string[]).map((to) => [to, to]))
      : paths
    this.#branches.push({
      from,
      route,
      ...(targets === undefined ? {} : { paths: { ...(targets as Readonly<Record<string, string>>) } }),
    })
    return this
  }

  setEntryPoint(node: Nodes): GraphBuilder<C, Nodes, Inputs> {
    return this.addEdge(START, node)
  }

  setFinishPoint(node: Nodes): GraphBuilder<C, Nodes, Inputs> {
    return this.addEdge(node, END)
  }

  /** Checks the whole graph and returns a runnable one. */
  compile(options: GraphOptions = {}): Graph<C> {
    const definition: GraphDefinition = {
      name: this.#name,
      channels: this.#channels,
      kinds: Object.fromEntries(Object.entries(this.#channels).map(([name, { kind }]) => [name, kind])),
      nodes: new Map(this.#nodes),
      edges: [...this.#edges],
      branches: [...this.#branches],
    }
    checkGraph(definition)
    return new Graph(definition, options)
  }
}

const NODE_NAME = /^[\p{L}\p{N}_-]+$/u

/** A node's name is part of the name of every task and of every journal below it. */
function checkNodeName(name: unknown, nodes: ReadonlyMap<string, unknown>): void {
  if (typeof name !== 'string' || !NODE_NAME.test(name) || name.length > 64)
    throw invalid(
      'invalid-graph',
      `${quote(name)} is no name for a node: use letters, digits, _ and -, at most 64`,
    )
  if (name === START || name === END)
    throw invalid('invalid-graph', `the name ${name} is taken, and cannot be a node`)
  if (nodes.has(name)) throw invalid('invalid-graph', `there are two nodes ${name}`)
}

function inputSchema(node: string, schema: unknown): Pick<NodeDefinition, 'input'> {
  if (schema === undefined) return {}
  if (isStandardSchema(schema)) return { input: schema }
  throw invalid(
    'invalid-graph',
    `the input of node ${node}, a function, must be a schema such as z.object({ … }), not ${shown(schema)}`,
  )
}

function retryPolicy(name: string, retry: NodeOptions['retry'] = 1): RetryPolicy {
  const options = typeof retry === 'number' ? { attempts: retry } : retry
  checkOptions(options, { place: `retry of ${name}`, ...RETRY })
  const policy = { attempts: 1, waitMs: 500, factor: 2, maxWaitMs: 30_000, ...defined(options) }
  atLeast(`retry of ${name}: attempts`, policy.attempts, 1)
  checkMs(`retry of ${name}: waitMs`, policy.waitMs, 0)
  checkMs(`retry of ${name}: maxWaitMs`, policy.maxWaitMs, 0)
  atLeast(`retry of ${name}: factor`, policy.factor, 1)
  return policy
}
