/**
 * Runs a turn of any loop: an async generator that yields before it acts. Its driver makes each batch durable before it
 * asks for the next, so every effect follows its intent (R3), and only durable entries are published, or those that `autoSave: false` holds
 * back. It starts at any session; recovery is the same generator from a later position.
 */
import { isPromise, type MaybePromise } from '../base/index.ts'
import type { Batch } from './driver-port.ts'
import { type EndFailed, endsTurn, failTurn } from './fail-turn.ts'
import { Interrupted, type RunBase } from './run-base.ts'

/** The steps of one kind of loop. */
export interface LoopSteps {
  readonly run: RunBase
  /** Opens a turn or takes over the open one. Returns false if nothing requests a turn: it then takes the inbox entries. */
  readonly begin: () => MaybePromise<boolean>
  /** The turn's next step, from the session. */
  readonly next: () => AsyncIterable<Batch> | undefined
  /** Ends a turn that was cancelled. */
  readonly cancel: () => AsyncIterable<Batch> | undefined
  readonly fail: EndFailed
}

/**
 * Runs one turn, new or open; returns whether there was one. A driver throws the refusal of a batch into the generator,
 * and gets a batch that ends the turn instead. The loop runs up to its first yield before the claim, so nothing before
 * that yield may have an effect.
 */
export async function* runLoop(make: () => LoopSteps): AsyncGenerator<Batch, boolean> {
  const steps = make()
  const { run } = steps
  try {
    const beginning = steps.begin()
    const began = isPromise(beginning) ? await beginning : beginning
    const { open } = run.session
    // A step may end this turn and begin the next one: that one runs under the next claim.
    while (open !== undefined && run.session.open?.turn === open.turn) {
      try {
        const batches = run.isCancelled ? steps.cancel() : steps.next()
        if (batches !== undefined) yield* batches
      } catch (error) {
        await continueIfTimedOut(run, error)
      }
    }
    if (!run.draft.isEmpty) yield run.commit('done')
    return began
  } catch (error) {
    if (!endsTurn(error)) throw error
    yield* failTurn(run, error, steps.fail)
    return true
  } finally {
    run.close()
  }
}

/** A turn whose time is up continues to its end; any other that was interrupted is lost. */
async function continueIfTimedOut(run: RunBase, error: unknown): Promise<void> {
  if (!(error instanceof Interrupted)) throw error
  if (run.cancelledOrTimedOut.aborted) return
  await run.scope.ensureLease()
  throw error
}
