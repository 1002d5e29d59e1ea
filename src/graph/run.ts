/** A run of a graph in play: what it is given, what it has said, and what is under way. */
import type { ChildScope } from '../drive/index.ts'
import type { GraphPosition } from '../journal/index.ts'
import { type IdsAbove, type LoopScope, RunBase } from '../loop/index.ts'
import { type Entry, HoldfastError } from '../protocol/index.ts'
import type { Settled } from '../tool/index.ts'
import type { GraphDefinition } from './definition.ts'
import { EntryQueue } from './entry-queue.ts'

/** Reaching one ends the turn with what was reached (R14). */
export interface GraphLimits {
  /** Nodes that run side by side are one step. 50 if not given. */
  readonly steps?: number
  readonly durationMs?: number
  /** Of all agents of the turn, input and output together. */
  readonly tokens?: number
  readonly costUsd?: number
}

const DEFAULT_STEPS = 50

export interface GraphScope extends LoopScope {
  readonly graph: GraphDefinition
  readonly limits: GraphLimits
  readonly childScope: ChildScope
  /** What is known of ids where the run is asked for, if that is inside of a call. */
  readonly above?: IdsAbove
  /** Entries of the run by their positions. */
  readonly entries: (seqs: readonly number[]) => Promise<readonly Entry[]>
}

export class Run extends RunBase<GraphScope> {
  /** Effects that this process has begun and whose ends have not been said, by their calls. */
  readonly underWay: Map<string, Promise<Settled>> = new Map()
  readonly queue: EntryQueue = new EntryQueue()
  /** What effects and nodes threw in this process, by their calls and tasks. */
  readonly thrown: Map<string, unknown> = new Map()
  #limits: GraphLimits | undefined

  get graph(): GraphDefinition {
    return this.scope.graph
  }

  get limits(): GraphLimits {
    this.#limits ??= this.#findLimits()
    return this.#limits
  }

  #findLimits(): GraphLimits {
    const asked = Object.entries(this.open.limits ?? {}).filter(([, most]) => typeof most === 'number')
    return { steps: DEFAULT_STEPS, ...this.scope.limits, ...(Object.fromEntries(asked) as GraphLimits) }
  }

  protected get durationMs(): number | undefined {
    return this.limits.durationMs
  }

  get position(): GraphPosition {
    const { graph } = this.session
    if (graph !== undefined) return graph
    throw new HoldfastError('nothing-to-continue', { message: 'There is no run of a graph to go on with.' })
  }

  override close(): void {
    super.close()
    if (this.queue.isOpen)
      this.queue.close(new HoldfastError('cancelled', { message: 'The turn is over, or in other hands.' }))
  }
}
