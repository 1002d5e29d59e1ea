/**
 * The life of a turn, whatever runs in it: an async generator that yields before it acts. Its driver makes each batch
 * durable before it asks for the next, so every effect comes after its intent (R3), and nobody hears of what might be
 * lost. It starts wherever the session stands; recovery is the same generator from a later position.
 */
import type { Batch } from './driver-port.ts'
import { type EndFailed, endsTurn, failTurn } from './fail-turn.ts'
import { Interrupted, type RunBase } from './run-base.ts'

/** What a kind of loop brings: everything else is the same for all of them. */
export interface LoopSteps {
  readonly run: RunBase
  /** Opens a turn or takes over the open one. False if there is no reason for one: then the inbox is accounted for. */
  readonly begin: () => Promise<boolean>
  /** What the turn does next, from where it stands. */
  readonly next: () => AsyncIterable<Batch> | undefined
  /** Ends a turn that was cancelled. */
  readonly cancel: () => AsyncIterable<Batch> | undefined
  readonly fail: EndFailed
}

/**
 * One turn, new or open. What it returns says whether there was one. A driver that cannot store a batch because of what
 * is in it throws that error into the generator, and gets a batch that ends the turn instead. The run is made when the
 * first batch is asked for: before that, the driver may still claim the turn.
 */
export async function* runLoop(make: () => LoopSteps): AsyncGenerator<Batch, boolean> {
  const steps = make()
  const { run } = steps
  try {
    const began = await steps.begin()
    while (run.session.open !== undefined) {
      try {
        const part = run.isCancelled ? steps.cancel() : steps.next()
        if (part !== undefined) yield* part
      } catch (error) {
        await goOnIfTimeIsUp(run, error)
      }
    }
    if (!run.draft.isEmpty) yield* run.commit('done')
    return began
  } catch (error) {
    if (!endsTurn(error)) throw error
    yield* failTurn(run, error, steps.fail)
    return true
  } finally {
    run.close()
  }
}

/** A turn whose time is up waits for nothing more and goes on to its end; any other that was interrupted is lost. */
async function goOnIfTimeIsUp(run: RunBase, error: unknown): Promise<void> {
  if (!(error instanceof Interrupted)) throw error
  if (run.signal.aborted) return
  await run.scope.mayAct()
  throw error
}
