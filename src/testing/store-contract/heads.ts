/**
 * The head row against the journal (R6), after every step of long random scenarios. They come from fixed seeds, so they
 * are the same every time, and include rare combinations: clocks that jump while a fork of a pruned fork is claimed.
 */
import assert from 'node:assert/strict'
import { forkContext, loadSession, positionOf } from '../../journal/index.ts'
import {
  defined,
  type ErrorCode,
  HoldfastError,
  type NewEntry,
  type OutcomeReason,
} from '../../protocol/index.ts'
import type { Store } from '../../store/index.ts'
import { headIsRebuilt } from './assertions.ts'
import { type ContractCase, subject } from './contract.ts'
import { entry, keyOf, note, release, Talk, turnEnd, turnStart } from './talk.ts'
import type { Trial } from './trial.ts'

const STEPS = 120
const SEEDS = [1, 2, 3, 4]

export const headCases: readonly ContractCase[] = subject(
  'heads',
  Object.fromEntries(
    SEEDS.map((seed) => [
      `the head is what a rebuild gives after every step of story ${seed} (R6)`,
      (trial: Trial) => tell(trial, seed),
    ]),
  ),
)

async function tell(trial: Trial, seed: number): Promise<void> {
  const story = new Story(trial, await trial.open(), seed)
  await story.talk.post('once upon a time')
  for (let step = 1; step <= STEPS; step++) {
    story.turnTo(story.pick(story.talks))
    const name = story.pick(NAMES)
    await steps[name]?.(story)
    await headIsRebuilt(story.store, story.talk.key, `step ${step}, ${name}`)
    await foldAgrees(story.talk, `step ${step}, ${name}`)
  }
  for (const { key } of story.talks) await headIsRebuilt(story.store, key, 'at the end')
  assert.ok(story.happened > STEPS / 4, `only ${story.happened} of ${STEPS} steps led to something`)
  assert.ok(story.talks.length > 1, 'there was a fork')
}

/** The fold and the head agree on the fields that both have; a fork or a base would copy a difference. */
async function foldAgrees({ store, key }: Talk, when: string): Promise<void> {
  const { seq, at, turn, epoch, claims, outcome, createdAt, activeAt, status } =
    (await store.head(key)) ?? assert.fail()
  const session = await loadSession(store, key)
  const running = status === 'running' || status === 'paused'
  assert.deepEqual(
    { seq: session.seq, ...positionOf(session) },
    {
      seq,
      at,
      turn,
      epoch,
      claims,
      createdAt,
      activeAt,
      running,
      ...defined({ outcome }),
    },
    when,
  )
}

class Story {
  readonly trial: Trial
  readonly store: Store
  readonly talks: Talk[]
  /** The conversation of the current step. */
  talk: Talk
  happened = 0
  #state: number

  constructor(trial: Trial, store: Store, seed: number) {
    this.trial = trial
    this.store = store
    this.talk = new Talk(store, keyOf())
    this.talks = [this.talk]
    this.#state = seed
  }

  turnTo(talk: Talk): void {
    this.talk = talk
  }

  /** A whole number from 0 to below `limit`. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % limit
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T
  }

  /** Allows the refusals that this step expects. */
  async try(call: Promise<unknown>, ...codes: readonly ErrorCode[]): Promise<void> {
    try {
      await call
      this.happened += 1
    } catch (error) {
      if (!HoldfastError.is(error) || !codes.includes(error.code)) throw error
    }
  }

  /** Appends as the owner of the conversation, dead or alive, or sometimes as another driver. */
  async drive(...entries: readonly NewEntry[]): Promise<void> {
    const { epoch } = await this.talk.head()
    const stray = this.below(8) === 0
    await this.try(this.talk.write(stray ? epoch - 1 : epoch, ...entries), 'fenced')
  }

  async taking(): Promise<string[]> {
    const waiting = await this.store.inbox(this.talk.key)
    return waiting.filter(() => this.below(2) === 0).map(({ key }) => key ?? '')
  }
}

const OUTCOMES: readonly OutcomeReason[] = ['stop', 'input-required', 'failed', 'cancelled']

const steps: Record<string, (story: Story) => Promise<void>> = {
  async post(story) {
    await story.try(story.talk.post(`input ${story.below(40)}`, `input ${40 + story.below(40)}`))
  },
  async claim(story) {
    const driver = `d${story.below(3)}`
    await story.try(story.talk.claim({ driver, leaseMs: 100 + story.below(900) }), 'owned')
  },
  async 'claim with entries'(story) {
    const { turn, seq } = await story.talk.head()
    const since = story.below(4) === 0 ? seq - 1 : seq
    const entries = [turnStart(turn + 1, ...(await story.taking())), note('off we go', turn + 1)]
    await story.try(story.talk.claim({ entries, since }), 'owned', 'moved')
  },
  async start(story) {
    const { turn } = await story.talk.head()
    await story.drive(turnStart(turn + 1, ...(await story.taking())))
  },
  async work(story) {
    const { turn } = await story.talk.head()
    const types = ['model.start', 'tool.start', 'warning', 'phase', 'note']
    const made = Array.from({ length: 1 + story.below(3) }, () => entry(story.pick(types), turn, BLANK))
    const future: NewEntry = { ...entry('from.the.future', turn), optional: true }
    await story.drive(...made, ...(story.below(4) === 0 ? [future] : []))
  },
  async take(story) {
    const takes = await story.taking()
    await story.drive({ ...entry('take', 0, { as: 'message' }), takes })
  },
  async end(story) {
    const { turn } = await story.talk.head()
    const wake = story.below(3) === 0 ? { wakeAt: story.trial.clock.now() + story.below(1000) } : {}
    await story.drive(turnEnd(turn, { outcome: story.pick(OUTCOMES), ...wake }))
  },
  async release(story) {
    const wakeAt = story.trial.clock.now() + story.below(1000)
    await story.drive(release(story.pick([{}, { wakeAt }, { pause: true }, { pause: true, wakeAt }])))
  },
  async renew(story) {
    const { epoch } = await story.talk.head()
    await story.try(story.store.renew({ key: story.talk.key, epoch, since: 0 }), 'fenced')
  },
  async wait(story) {
    story.trial.clock.advance(story.below(800))
  },
  async 'set the clock'(story) {
    story.trial.clock.set(story.trial.clock.now() + story.below(4000) - 2000)
  },
  async fork(story) {
    const { seq, base } = await story.talk.head()
    if (story.talks.length >= 5) return
    const contextId = `fork-${story.talks.length}`
    const at = Math.max(1, base, seq - story.below(20))
    await story.try(forkContext(story.store, story.talk.key, { contextId, at }), 'pruned')
    const fork = new Talk(story.store, keyOf(contextId))
    if ((await story.store.head(fork.key)) !== undefined) story.talks.push(fork)
  },
  async prune(story) {
    const { seq, base } = await story.talk.head()
    const upTo = base + story.below(seq - base + 1)
    const first = (await story.talk.read({ limit: 1 }))[0]?.seq ?? seq
    if (upTo < first) return
    const session = await loadSession(story.store, story.talk.key, upTo)
    const request = { key: story.talk.key, upTo, position: positionOf(session), session }
    await story.try(story.store.prune(request), 'in-use', 'not-found')
    story.talk.since = (await story.talk.head()).base
  },
}

/** Minimal data by type, for the fold. */
const BLANK = {
  name: 'x',
  text: 'x',
  from: 'x',
  model: 'x',
  iteration: 1,
  callId: 'x',
  code: 'x',
  message: 'x',
}

const NAMES = ['claim', 'start', 'work', 'work', 'end', 'post', ...Object.keys(steps)]
