/** Runs the graph of a flow to its end, or goes on with one that was interrupted, and says how it ended. */
import { systemIds } from '../base/index.ts'
import type {
  Channels,
  Graph,
  GraphEvent,
  GraphLimits,
  GraphOptions,
  GraphOutcome,
  GraphRun,
  InputOf,
  StateOf,
} from '../graph/index.ts'
import { loadSession } from '../journal/index.ts'
import { contained } from '../loop/index.ts'
import {
  defined,
  HoldfastError,
  LOCAL_OWNER,
  limitText,
  type OptionSet,
  type Owner,
  quote,
  type Usage,
} from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { memoryStore } from '../store/memory/index.ts'

type OnEvent = (event: GraphEvent) => unknown

export interface FlowOptions {
  /** The store of the journals. Default: in memory, lost with the process. */
  readonly store?: Store
  /** The name of the conversation. One that has begun goes on where it stopped. Default: a new one. */
  readonly contextId?: string
  readonly owner?: Owner
  /** Steps, time, tokens and cost. Default: 50 steps. */
  readonly limits?: GraphLimits
  readonly signal?: AbortSignal
  /** Called with each event of the run. If it throws or rejects, the process warns once, and the run goes on. */
  readonly onEvent?: (event: GraphEvent) => unknown
  /** Observers of the runs, and the logger. */
  readonly telemetry?: GraphOptions['telemetry']
  readonly logger?: GraphOptions['logger']
}

export const FLOW_OPTIONS: OptionSet<FlowOptions>['options'] = {
  store: null,
  contextId: 'a text',
  owner: 'an object',
  limits: 'an object',
  signal: 'an AbortSignal',
  onEvent: 'a function',
  telemetry: null,
  logger: null,
}

/** `limit`, `cancelled`, `failed`: the results are what was reached; another call with the same `contextId` goes on. */
export type FlowEnd = 'done' | 'limit' | 'cancelled' | 'failed'

export interface FlowRun<C extends Channels> {
  readonly state: StateOf<C>
  readonly ended: FlowEnd
  /** A sentence: why the run ended. */
  readonly reason: string
  readonly usage: Usage
  readonly contextId: string
}

export interface Flow<C extends Channels> {
  readonly compile: (options: GraphOptions) => Graph<C>
  readonly input: InputOf<C>
  /** Throws if a conversation that has begun is about something else than this call. */
  readonly check?: (state: StateOf<C>, contextId: string) => void
}

export async function runFlow<C extends Channels>(
  { compile, input, check }: Flow<C>,
  options: FlowOptions,
): Promise<FlowRun<C>> {
  const { limits, telemetry, logger, owner, signal, onEvent } = options
  const { store = memoryStore(), contextId = systemIds.next('flow') } = options
  const graph = compile({ store, ...defined({ limits, telemetry, logger }) })
  const where = { contextId, ...defined({ owner }) }
  const session = () => loadSession(store, { ...(owner ?? LOCAL_OWNER), contextId })
  const { open, outcome: last, totals, graph: position } = await session()
  if (position !== undefined && position.graph !== graph.name)
    throw new HoldfastError('invalid-option', {
      message: `The conversation ${quote(contextId)} is one of ${position.graph}, not of ${graph.name}. Give another contextId.`,
    })
  const before = await graph.getState(where)
  if (before !== undefined) check?.(before.state, contextId)
  if (before !== undefined && open === undefined && last === 'stop')
    return { state: before.state, ...DONE, usage: totals.usage, contextId }
  const run = graph.stream(before === undefined ? input : null, { ...where, ...defined({ signal }) })
  const outcome = await outcomeOf(run, onEvent)
  return { state: outcome.state, ...endOf(outcome), usage: (await session()).totals.usage, contextId }
}

/** The outcome of a run whose events go to listeners; none of them can fail it. */
export async function outcomeOf<C extends Channels>(
  run: GraphRun<C>,
  ...listeners: readonly (OnEvent | undefined)[]
): Promise<GraphOutcome<C>> {
  for await (const event of run)
    for (const listener of listeners) contained(() => listener?.(event), 'onEvent')
  return run.outcome
}

const DONE = { ended: 'done', reason: 'All is done.' } as const

function endOf(outcome: Omit<GraphOutcome<Channels>, 'state'>): Pick<FlowRun<Channels>, 'ended' | 'reason'> {
  const { status, error, limit } = outcome
  if (limit !== undefined)
    return { ended: 'limit', reason: `The limit on ${limitText(outcome)} was reached.` }
  if (status === 'completed') return DONE
  const ended = status === 'cancelled' ? 'cancelled' : 'failed'
  return { ended, reason: error?.message ?? `The run was ${ended}.` }
}
