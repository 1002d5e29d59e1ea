/** The state of one turn of a graph: its scope, its draft, and its effects under way. */
import type { ChildScope } from '../drive/index.ts'
import type { GraphPosition } from '../journal/index.ts'
import { type LoopScope, type ParentIdJudge, RunBase, storedLimits } from '../loop/index.ts'
import { type Entry, HoldfastError } from '../protocol/index.ts'
import type { Settled } from '../tool/index.ts'
import type { GraphDefinition } from './definition.ts'
import { EntryQueue } from './entry-queue.ts'

/** Reaching a limit ends the turn with its progress so far. */
export interface GraphLimits {
  /** Nodes that run side by side are one step. Default: 50. */
  readonly steps?: number
  readonly durationMs?: number
  /** Input and output tokens of all agents in the turn. */
  readonly tokens?: number
  readonly costUsd?: number
}

const DEFAULT_STEPS = 50

export interface GraphScope extends LoopScope {
  readonly graph: GraphDefinition
  readonly limits: GraphLimits
  readonly childScope: ChildScope
  /** True: the input of a run holds the values of channels, not updates of their initial values. */
  readonly isState: boolean
  /** Ids known to the caller, if the run was started inside of a call. */
  readonly above?: ParentIdJudge | undefined
  /** The draft begins this turn for a queued run, and no caller waits for it: this process has to drive it. */
  readonly onQueuedTurn: (turn: number) => void
  /** Entries of the run by their positions. */
  readonly entries: (seqs: readonly number[]) => Promise<readonly Entry[]>
}

export class Run extends RunBase<GraphScope> {
  /** Effects that this process has started and not settled, by call. */
  readonly underWay: Map<string, Promise<Settled>> = new Map()
  readonly queue: EntryQueue = new EntryQueue()
  /** Errors that effects and nodes threw in this process, by call and task. */
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
    return { steps: DEFAULT_STEPS, ...this.scope.limits, ...storedLimits(this.open.limits) }
  }

  protected get durationMs(): number | undefined {
    return this.limits.durationMs
  }

  get position(): GraphPosition {
    const { graph } = this.session
    if (graph !== undefined) return graph
    throw new HoldfastError('nothing-to-continue', {
      message: 'There is no run of a graph to continue. Pass an input.',
    })
  }

  override close(): void {
    super.close()
    if (this.queue.isOpen)
      this.queue.close(
        new HoldfastError('cancelled', { message: 'The turn has ended, or another process drives it.' }),
      )
  }
}
