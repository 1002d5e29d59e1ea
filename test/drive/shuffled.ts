/**
 * One conversation on one store, driven by two independent agents, while callers send, steer, cancel, pause and shut
 * down at random. Run under `delayed-awaits.ts`, so that every await takes a random time.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { Agent, defineTool, HoldfastError, memoryStore, type TurnOutcome } from '../../src/index.ts'
import { type Entry, LOCAL_OWNER } from '../../src/protocol/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { headProblems, orderProblems } from '../many/verdict.ts'
import { Random } from '../reflex/random.ts'
import { shuffle } from './delayed-awaits.ts'

const KEY = { ...LOCAL_OWNER, contextId: 'c' }
const LEASE_MS = 900
/** Longer than anything here takes on a machine that makes progress. */
const CEILING_MS = 60_000
const WHILE_BUSY = ['queue', 'queue', 'queue', 'steer', 'interrupt'] as const

type WhileBusy = (typeof WHILE_BUSY)[number]

interface Sent {
  readonly key: string
  readonly whileBusy: WhileBusy
  readonly outcome: Promise<TurnOutcome>
}

class Trial {
  readonly #random: Random
  readonly #store = memoryStore()
  readonly #effects: string[] = []
  readonly #sent: Sent[] = []
  readonly #agents: readonly Agent[]

  constructor(seed: number) {
    this.#random = new Random(seed)
    this.#agents = [this.#agent(), this.#agent()]
  }

  async run(): Promise<readonly string[]> {
    const callers = Array.from({ length: this.#random.between(2, 4) }, () => this.#call())
    await Promise.all(callers)
    for (const agent of this.#agents) await agent.start()
    this.#send('last', 'queue')
    const outcomes = await Promise.all(
      this.#sent.map(async ({ key, outcome }) => ({ key, ...(await outcome) })),
    )
    for (const agent of this.#agents) await unlessOwned(agent.shutdown())
    const entries = await this.#store.read(KEY, { limit: 10_000 })
    const head = await this.#store.head(KEY)
    return [
      ...orderProblems(entries),
      ...headProblems(head, entries),
      ...takenProblems(entries),
      ...sentProblems(entries, outcomes),
      ...twice(this.#effects).map((callId) => `${callId} was run twice`),
      ...leftProblems(await this.#store.inbox(KEY)),
    ]
  }

  async #call(): Promise<void> {
    const agent = this.#random.pick(this.#agents)
    for (let left = this.#random.between(2, 6); left > 0; left--) {
      await this.#act(agent)
      if (this.#random.chance(0.5)) await sleep(this.#random.below(6))
    }
  }

  async #act(agent: Agent): Promise<void> {
    const chance = this.#random.next()
    if (chance < 0.6) this.#send(`m${this.#sent.length}`, this.#random.pick(WHILE_BUSY), agent)
    else if (chance < 0.68) this.#again(agent)
    else if (chance < 0.76) await agent.cancel()
    else if (chance < 0.84) await this.#stopAndStart(agent, () => agent.pause())
    else if (chance < 0.92) await this.#stopAndStart(agent, () => agent.shutdown())
    else await unlessOwned(agent.saveState({ at: this.#random.below(100) }))
  }

  async #stopAndStart(agent: Agent, stop: () => Promise<void>): Promise<void> {
    await unlessOwned(stop())
    await agent.start()
  }

  #send(key: string, whileBusy: WhileBusy, agent = this.#random.pick(this.#agents)): void {
    this.#sent.push({ key, whileBusy, outcome: agent.executeTurn(key, { key, whileBusy }).outcome })
  }

  /** The same request again, as after a lost answer. */
  #again(agent: Agent): void {
    if (this.#sent.length === 0) return
    const { key, whileBusy } = this.#random.pick(this.#sent)
    this.#send(key, whileBusy, agent)
  }

  #agent(): Agent {
    const pay = defineTool({
      name: 'pay',
      description: 'pays',
      input: z.object({}),
      replay: 'never',
      run: async (_, { callId }) => {
        this.#effects.push(callId)
        await sleep(this.#random.below(4))
        return 'paid'
      },
    })
    const reply = () => (this.#random.chance(0.4) ? { calls: [{ tool: 'pay', args: {} }] } : 'Done.')
    const model = new ScriptedModel(Array.from({ length: 1000 }, () => reply))
    return new Agent({ contextId: 'c', store: this.#store, leaseMs: LEASE_MS, tools: [pay], model })
  }
}

/** State that the agent may not write while the other one drives. */
async function unlessOwned(work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!HoldfastError.is(error, 'owned')) throw error
  }
}

function* takenProblems(entries: readonly Entry[]): Generator<string> {
  for (const seq of twice(entries.flatMap(({ takes = [] }) => takes.map(String))))
    yield `inbox entry ${seq} was taken twice`
  for (const posted of twice(entries.flatMap(({ key }) => key ?? [])))
    yield `${posted} is in the journal twice`
}

/** Every message that was not refused is in the journal, and its sender got the turn that took it. One that was cancelled early is not. */
function* sentProblems(
  entries: readonly Entry[],
  outcomes: readonly (TurnOutcome & { readonly key: string })[],
): Generator<string> {
  const inputs = new Map(entries.filter(({ type }) => type === 'input').map(({ key, seq }) => [key, seq]))
  const takenBy = new Map(entries.flatMap(({ takes = [], turn }) => takes.map((seq) => [seq, turn])))
  for (const { key, reason, turn, error } of outcomes) {
    const isEarly = reason === 'cancelled' && turn === 0
    const isFailed = reason === 'failed' && turn === 0
    const isRefused = isEarly || isFailed
    if (isFailed && !['shutdown', 'paused'].includes(error?.code ?? ''))
      yield `${key} was refused: ${error?.message}`
    const seq = inputs.get(key)
    const isSentOnce = outcomes.filter((one) => one.key === key).length === 1
    if (isEarly && isSentOnce && seq !== undefined) yield `${key} was cancelled early and is in the journal`
    if (seq === undefined && !isRefused) yield `${key} was answered with ${reason} and is not in the journal`
    if (seq !== undefined && !isRefused && takenBy.get(seq) !== turn)
      yield `${key} heard of turn ${turn} and was taken by ${takenBy.get(seq)}`
  }
}

/** Only a cancel that came too late may be left for the next driver. */
function leftProblems(inbox: readonly Entry[]): readonly string[] {
  return inbox.filter(({ type }) => type !== 'cancel').map(({ key }) => `${key} is left in the inbox`)
}

function twice(list: readonly string[]): readonly string[] {
  return list.filter((one, index) => list.indexOf(one) !== index)
}

/** The problems found in the conversation of this seed. */
export async function playShuffled(seed: number): Promise<readonly string[]> {
  shuffle(seed)
  const over = new AbortController()
  const late = sleep(CEILING_MS, ['it came to no end'], { signal: over.signal }).catch(() => [])
  const problems = await Promise.race([new Trial(seed).run(), late])
  over.abort()
  return problems
}
