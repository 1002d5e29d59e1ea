/**
 * A conversation of a graph and the processes that run it: its inputs, its answers and its effects. A crash can be
 * placed at any point; a later process finishes it.
 */
import { z } from 'zod'
import type { Timer } from '../../src/base/index.ts'
import {
  type Channels,
  type EffectContext,
  type Graph,
  type GraphBuilder,
  type GraphOptions,
  type GraphRun,
  type NodeContext,
  type StepOptions,
} from '../../src/graph/index.ts'
import { fold } from '../../src/journal/index.ts'
import { HoldfastError, isWaiting, type Json, type RequestData } from '../../src/protocol/index.ts'
import { ManualClock, ScriptedModel, type ScriptedStep } from '../../src/testing/index.ts'
import { defineTool, type Tool } from '../../src/tool/index.ts'
import { eagerTimer } from '../recovery/mortal.ts'
import type { Body, Surroundings } from '../recovery/world.ts'

export type Values = Readonly<Record<string, Json>>

export interface GraphPlay {
  readonly name: string
  /** Inputs in order, each given when the run before has settled. */
  readonly inputs: readonly Values[]
  readonly build: (process: GraphProcess) => Graph<Channels>
  /** Without it no answer is given until the request expires. */
  readonly answer?: (request: RequestData) => Json
  /** How often it is continued after a failure. */
  readonly tries?: number
}

export interface GraphBody extends Body {
  /** Subscribes to a run, from its start. */
  follow?(run: GraphRun<Channels>): Promise<void>
}

/** `step`: the name of its effects in the world. */
export interface Doing extends Pick<StepOptions<string>, 'replay' | 'verify'> {
  readonly tool?: string
  /** Ends after others that are shorter. */
  readonly length?: number
  /** Throws this instead of running; a pure function of the attempt. */
  readonly fails?: string
  /** A side action. */
  readonly also?: () => Promise<void>
}

/** The most turns; a scenario that has not settled by then never will. */
const MOST_TURNS = 200

export class GraphProcess {
  readonly world: Surroundings
  readonly graph: Graph<Channels>
  readonly #body: GraphBody
  readonly #play: GraphPlay

  constructor(world: Surroundings, play: GraphPlay, body: GraphBody) {
    this.world = world
    this.#body = body
    this.#play = play
    this.graph = play.build(this)
  }

  compile<C extends Channels, N extends string>(
    builder: GraphBuilder<C, N>,
    options: GraphOptions = {},
  ): Graph<Channels> {
    const { store, ids } = this.#body
    const { clock } = this.world
    const ports = { store, ids, clock, timer: timerOf(clock), maxClaims: 1000 }
    return builder.compile({ ...ports, ...options })
  }

  /** A step that returns its key when done. */
  async step(context: NodeContext, key: string, doing: Doing = {}): Promise<string> {
    const { tool = 'pay', length = 0, fails, also, ...options } = doing
    const effect = async (given: EffectContext): Promise<string> => {
      if (fails !== undefined) throw new Error(fails)
      for (let turn = 0; turn < length; turn++) await new Promise(setImmediate)
      await this.#body.effect(named(tool, given))
      await also?.()
      return key
    }
    return context.step(key, effect, options)
  }

  /** The same, for a node that tolerates an unknown outcome. */
  async tryStep(context: NodeContext, key: string, doing: Doing = {}): Promise<string> {
    try {
      return await this.step(context, key, doing)
    } catch (error) {
      if (HoldfastError.is(error, 'unknown-outcome')) return 'unknown'
      throw error
    }
  }

  hasHappened({ idempotencyKey }: EffectContext): boolean {
    return this.world.hasHappened(idempotencyKey)
  }

  tool(name: string, different: { readonly replay?: 'safe'; readonly approve?: 'always' } = {}): Tool {
    return defineTool({
      name,
      description: `does ${name}`,
      input: z.object({ n: z.number().optional() }),
      ...different,
      run: async (_, { callId, idempotencyKey: key }) => {
        await this.#body.effect({ tool: name, callId, key })
        return { done: name }
      },
    })
  }

  /** Replies by the number of earlier replies, so a new process continues where one crashed. */
  model(...steps: readonly ScriptedStep[]): ScriptedModel {
    return new ScriptedModel(
      ({ prompt }) => {
        const step = steps[prompt.filter(({ role }) => role === 'assistant').length]
        if (step === undefined) throw new Error(`No reply to ${JSON.stringify(prompt)}`)
        return step
      },
      { name: 'scripted/model', timer: eagerTimer },
    )
  }

  /** Runs from the current state of the conversation. Ends early if the process crashes. */
  run(): Promise<'ended' | 'died'> {
    const playing = this.#playOn().then(() => 'ended' as const)
    return Promise.race([playing, this.#body.died.then(() => 'died' as const)])
  }

  async #playOn(): Promise<void> {
    await this.#rest()
    for (const [index, values] of this.#play.inputs.entries()) {
      const key = `input ${index + 1}`
      const { store } = this.#body
      const entries = await store.read({ ...this.world.owner, contextId: 'talk' })
      if (!entries.some((entry) => entry.key === key))
        await this.#heard(this.graph.stream(values, { ...this.#where, key }))
      await this.#rest()
    }
  }

  get #where() {
    return { contextId: 'talk', owner: this.world.owner }
  }

  async #heard(run: GraphRun<Channels>): Promise<void> {
    void this.#body.follow?.(run)
    await run.outcome
  }

  /** Runs until only a new input could continue it. */
  async #rest(): Promise<void> {
    for (let turns = 0; turns < MOST_TURNS; turns++) {
      const run = await this.#next()
      if (run === undefined) return
      await this.#heard(run)
    }
    throw new Error('It never comes to rest.')
  }

  async #letExpire(requests: readonly RequestData[]): Promise<GraphRun<Channels>> {
    const { clock } = this.world
    for (const { expiresAt = 0 } of requests)
      while (clock.now() <= expiresAt) await timerOf(clock).wait(expiresAt - clock.now() + 1)
    return this.graph.stream(null, this.#where)
  }

  /** From inside of an effect: cancels the turn that it is a part of. */
  async cancel(): Promise<void> {
    await this.graph.cancel(this.#where)
  }

  async #next(): Promise<GraphRun<Channels> | undefined> {
    const { tries = 0, answer } = this.#play
    const entries = await this.#body.store.read({ ...this.world.owner, contextId: 'talk' })
    const { open, outcome, turn } = fold(entries)
    if (turn === 0) return undefined
    if (open !== undefined || outcome === 'limit') return this.graph.stream(null, this.#where)
    if (outcome !== undefined && isWaiting(outcome)) {
      const requests = await this.graph.requests(this.#where)
      if (answer === undefined) return this.#letExpire(requests)
      const answers = requests.map((request) => [request.requestId, answer(request)] as const)
      return this.graph.answer(Object.fromEntries(answers), this.#where)
    }
    const failed = entries.filter(({ type, data }) => type === 'turn.end' && data['outcome'] === 'failed')
    const isUnknown = JSON.stringify(failed.at(-1)?.data['error'] ?? '').includes('unknown-outcome')
    if (outcome !== 'failed' || failed.length > tries || isUnknown) return undefined
    return this.graph.stream(null, this.#where)
  }
}

function named(tool: string, { idempotencyKey }: EffectContext) {
  return { tool, callId: idempotencyKey, key: idempotencyKey }
}

/** Waiting advances a manual clock at once. */
function timerOf(clock: Surroundings['clock']): Timer {
  if (!(clock instanceof ManualClock)) return eagerTimer
  return {
    wait: async (ms, options = {}) => {
      await eagerTimer.wait(ms, options)
      if (!options.background && !options.signal?.aborted) clock.advance(ms)
    },
    after: (ms, act) => eagerTimer.after(ms, act),
  }
}
