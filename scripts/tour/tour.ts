/**
 * The tour of `npm start`: real turns on a real journal, in this process and in two others, of which one is killed.
 * claims.ts computes its claims in this run; the first one that does not hold ends it.
 */
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Agent, type AgentConfig, type Store } from 'holdfast'
import type { Entry } from 'holdfast/journal'
import { sqliteStore } from 'holdfast/sqlite'
import { answerFrom } from 'holdfast/tool'
import { askedClaim, diedClaim, onceClaim, recoveredClaim, refusedClaim, waitsClaim } from './claims.ts'
import { FalseClaim, Narrator, type NarratorOptions } from './narrator.ts'
import { ROGUE, rogueModel } from './rogue.ts'
import { CONTEXT_ID, JOURNAL, KEY } from './tour-context.ts'
import type { openWiring, TourWiring } from './wiring.ts'
import { WorkerProcess } from './worker-process.ts'

export interface TourOptions extends NarratorOptions {
  /** An empty folder. */
  readonly home: string
  /** The printed path of the folder. */
  readonly shownHome?: string
  /** A line for people. */
  readonly hint?: string
  /** The module with `openWiring`, for this process and the others. */
  readonly wiring?: URL
}

const WIRING = new URL('./wiring.ts', import.meta.url)
const MID_EFFECT_MS = 2500
const LOOK_MS = 20

/** True if every claim held. Rejects with the reason of the signal if it was aborted. */
export async function playTour(options: TourOptions): Promise<boolean> {
  const { home, shownHome = home, wiring = WIRING, signal } = options
  const store = sqliteStore(join(home, JOURNAL))
  try {
    const { openWiring: open } = (await import(wiring.href)) as { openWiring: typeof openWiring }
    const tour = new Tour({ ...options, wiring }, store, open(home))
    await tour.play(join(shownHome, JOURNAL))
    return true
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof FalseClaim) return false
    throw error
  } finally {
    await store.close()
  }
}

class Tour {
  readonly #options: TourOptions & { readonly wiring: URL }
  readonly #store: Store
  readonly #wiring: TourWiring
  readonly #narrator: Narrator

  constructor(options: TourOptions & { readonly wiring: URL }, store: Store, wiring: TourWiring) {
    this.#options = options
    this.#store = store
    this.#wiring = wiring
    this.#narrator = new Narrator(options)
  }

  async play(journal: string): Promise<void> {
    const narrator = this.#narrator
    narrator.title('Holdfast: agents that survive kill -9 and never act on a made-up id.')
    narrator.printText(`Model: reflex, built in, no key. Journal: ${journal}`)
    if (this.#options.hint !== undefined) narrator.aside(this.#options.hint)
    await this.#choice()
    await this.#invention()
    await this.#approval()
    await this.#crash()
    const { length } = await this.#entries()
    narrator.aside(
      `\n● is read back in this run, from the journal (${length} entries) and from the tools’ own records.`,
    )
  }

  /** A list, and a choice that only the person can make. */
  async #choice(): Promise<void> {
    const narrator = this.#narrator
    narrator.heading('1  A list and a choice')
    await this.#with({ model: 'reflex' }, async (agent) => {
      await this.#ask(agent, 'List the projects')
      const [request] = (await this.#ask(agent, 'Select project Les Tilleuls')).requests
      if (request === undefined) return
      await narrator.question(request, this.#store)
      await narrator.type('Nantes')
      await narrator.turn(agent.answer({ [request.requestId]: answerFrom(request, 'Nantes') }))
    })
    await narrator.claim(askedClaim(await this.#entries()))
  }

  /** A call with an invented id is refused, and the model corrects it. */
  async #invention(): Promise<void> {
    const narrator = this.#narrator
    narrator.heading('2  A model makes up an id')
    await this.#with({ model: 'reflex' }, (agent) => this.#ask(agent, 'List its tasks'))
    narrator.warn(`Now ${ROGUE} answers, a script that makes up its first id.`)
    await this.#with({ model: rogueModel() }, (agent) => this.#ask(agent, 'Mark Plomberie as done'))
    const entries = await this.#entries()
    await narrator.claim(refusedClaim(entries, this.#wiring.updates()))
    await narrator.claim(recoveredClaim(entries, this.#wiring.updates()))
  }

  /** A question that outlives its process. */
  async #approval(): Promise<void> {
    const narrator = this.#narrator
    narrator.heading('3  An approval')
    await this.#with({ model: 'reflex' }, async (agent) => {
      const [request] = (await this.#ask(agent, 'Order 40 bags of cement')).requests
      if (request !== undefined) await narrator.question(request, this.#store)
    })
    const head = await this.#store.head(KEY)
    await narrator.claim(waitsClaim(await this.#entries(), this.#wiring.supplier.orders(), head))
  }

  /** The process of the approved effect is killed in its middle, and the next one resumes. */
  async #crash(): Promise<void> {
    const narrator = this.#narrator
    const { supplier } = this.#wiring
    narrator.heading('4  kill -9 in the middle of an effect')
    await narrator.type('yes')
    const first = this.#process('answer')
    await this.#following(first, async () => {
      await first.until(() => supplier.orders().length > 0)
      narrator.aside(`process ${first.pid}: order_cement runs, the supplier takes a minute to confirm`)
      await narrator.pause(MID_EFFECT_MS)
      first.kill()
    })
    narrator.alarm(`kill -9 ${first.pid}`)
    const death = await first.ended
    await narrator.claim(diedClaim(await this.#entries(), supplier.orders(), death))
    const next = this.#process('resume')
    narrator.aside(`process ${next.pid}: opens the journal and takes up what was left open`)
    await this.#following(next, () => next.ended)
    await narrator.claim(onceClaim(await this.#entries(), supplier.orders(), next.pid))
  }

  #process(job: 'answer' | 'resume'): WorkerProcess {
    const { wiring, home, signal } = this.#options
    return new WorkerProcess({ wiring, home, job, signal })
  }

  /** Shows the entries of a process during `during`; then ends the process. */
  async #following(worker: WorkerProcess, during: () => Promise<unknown>): Promise<void> {
    const before = await this.#entries()
    const shown = this.#narrator.follow(this.#entriesOf(worker, before.length), before)
    try {
      await during()
    } finally {
      worker.kill()
      await shown
    }
  }

  async *#entriesOf(worker: WorkerProcess, since: number): AsyncGenerator<Entry> {
    for (let seq = since; ; ) {
      const { isOver } = worker
      for (const entry of await this.#store.read(KEY, { from: seq + 1 })) {
        seq = entry.seq
        yield entry
      }
      if (isOver) return
      await wait(LOOK_MS)
    }
  }

  async #ask(agent: Agent, text: string): ReturnType<Narrator['turn']> {
    await this.#narrator.type(text)
    return this.#narrator.turn(agent.executeTurn(text))
  }

  /** An agent of this process, for as long as it is used. */
  async #with<T>(config: Pick<AgentConfig, 'model'>, use: (agent: Agent) => Promise<T>): Promise<T> {
    const agent = new Agent({ contextId: CONTEXT_ID, store: this.#store, ...this.#wiring.agent, ...config })
    try {
      return await use(agent)
    } finally {
      await agent.shutdown()
    }
  }

  #entries(): Promise<readonly Entry[]> {
    return this.#store.read(KEY)
  }
}
