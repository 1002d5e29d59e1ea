/**
 * A process that plays conversations as it is told, until it is killed: by itself, at a given point, or by its parent.
 * Told to play none, it leaves.
 */
import type { Store } from '../../src/store/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { conversationCalled } from './conversations.ts'
import { withFileSteps } from './file-steps.ts'
import { hastyStore } from './hasty-store.ts'
import { type Counts, type Point, Stage } from './stage.ts'

export interface Job {
  readonly conversation: string
  readonly actor: string
  readonly kill?: Point
  /** Wrong on purpose: a store that acknowledges before it has written. */
  readonly hasty?: true
}

/** `ready`: it has loaded everything. `begun`: several jobs are under way. `ended`: a job came to its end. `broke`: it threw. */
export type Report =
  | { readonly what: 'ready' | 'begun' }
  | { readonly what: 'ended'; readonly actor: string; readonly counts: Counts }
  | { readonly what: 'broke'; readonly actor: string }

/** So many conversations are played at the same time. */
const AT_ONCE = 5

function report(said: Report): void {
  process.send?.(said)
}

async function perform(
  open: Store,
  folder: string,
  { conversation, actor, kill, hasty }: Job,
): Promise<void> {
  const store = hasty ? hastyStore(open) : open
  const stage = new Stage({ store, record: { folder, actor }, ...(kill === undefined ? {} : { kill }) })
  try {
    stage.write({ what: 'begun' })
    await withFileSteps(stage, async () => conversationCalled(conversation).play(stage))
    stage.write({ what: 'ended' })
    report({ what: 'ended', actor, counts: stage.counts })
  } catch (error) {
    stage.write({ what: 'broke', why: error instanceof Error ? String(error.stack) : String(error) })
    report({ what: 'broke', actor })
  }
}

const [path, folder] = process.argv.slice(2)
if (process.send !== undefined && path !== undefined && folder !== undefined) {
  const store = sqliteStore(path, { synchronous: 'NORMAL' })
  process.on('message', (jobs: readonly Job[]) => {
    const waiting = [...jobs]
    const playOn = async () => {
      for (let job = waiting.shift(); job !== undefined; job = waiting.shift())
        await perform(store, folder, job)
    }
    for (let player = 0; player < AT_ONCE; player++) void playOn()
    if (jobs.length > 1) report({ what: 'begun' })
    if (jobs.length === 0) process.exit()
  })
  process.on('disconnect', () => process.exit())
  report({ what: 'ready' })
}
