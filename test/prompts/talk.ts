/**
 * A conversation in which anything may happen to anybody: models that break, tools that fail, ask and hang, hooks that
 * add, edit, throw and stop, people who cancel, steer, answer or do not, processes that die, other providers, windows of
 * any size, compactions, imports and forks. What happens is decided by dice that the test throws, so it can be repeated.
 */
import { z } from 'zod'
import { Agent, type AgentConfig } from '../../src/agent/index.ts'
import type { Hooks } from '../../src/hook/index.ts'
import { type Entry, LOCAL_OWNER } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ManualClock, ScriptedModel, type ScriptedStep } from '../../src/testing/index.ts'
import { ask, defineTool, type Tool } from '../../src/tool/index.ts'
import type { AutoCompact } from '../../src/turn/index.ts'
import { type Death, eagerTimer, livenessOf, Mortal } from '../recovery/mortal.ts'

/** What somebody does next. */
export type Deed =
  | { readonly do: 'say'; readonly text: string; readonly cancelAt?: number }
  | { readonly do: 'answer'; readonly value: boolean | string }
  | { readonly do: 'continue' | 'clear' | 'restart' | 'fork' | 'pause' }
  | { readonly do: 'compact'; readonly keep: number; readonly strategy: 'sliding' | 'summary' }
  | { readonly do: 'import'; readonly history: readonly unknown[] }
  | {
      readonly do: 'change'
      readonly model: number
      readonly maxMessages: number
      readonly maxTokens?: number | undefined
      readonly autoCompact: boolean | AutoCompact
      readonly autoSave: boolean
      readonly toolResultTurns: number
    }
  | { readonly do: 'die'; readonly death: Death }

/** Numbers that were thrown beforehand, over and over. */
export class Dice {
  readonly #thrown: readonly number[]
  #next = 0

  constructor(thrown: readonly number[]) {
    this.#thrown = thrown
  }

  /** From 0 to below `sides`. */
  roll(sides: number): number {
    const value = this.#thrown[this.#next++ % this.#thrown.length] ?? 0
    return (value + this.#next * 7) % sides
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.roll(choices.length)] as T
  }
}

const MODELS = ['anthropic/claude', 'openai/gpt', 'google/gemini'] as const
const INPUT: z.ZodObject<{ n: z.ZodOptional<z.ZodNumber> }> = z.object({ n: z.number().optional() })

/** Longer than what is left of it when it is old. */
const LONG = 'long '.repeat(30)

export class Talk {
  readonly dice: Dice
  readonly store: Store
  readonly models: ScriptedModel[] = []
  readonly #hooked: boolean
  readonly #clock: ManualClock = new ManualClock(1000)
  readonly #mortals: Mortal[] = []
  #contextId = 'talk'
  #config: Partial<AgentConfig> = {}
  #model = 0
  #death: Death | undefined
  #dead: PromiseWithResolvers<string> = Promise.withResolvers()
  #mortal!: Mortal
  #agent!: Agent

  constructor(thrown: readonly number[], options: { readonly hooked: boolean }) {
    this.dice = new Dice(thrown)
    this.#hooked = options.hooked
    this.store = memoryStore({ clock: this.#clock, liveness: livenessOf(this.#mortals) })
    this.#begin()
  }

  /** Does it, and whatever comes of it; a process that dies of it is followed by another, which may die too. */
  async act(deed: Deed): Promise<void> {
    let doing = this.#perform(deed)
    while ((await Promise.race([doing.then(() => 'done'), this.#dead.promise])) !== 'done') {
      this.#dead = Promise.withResolvers()
      this.#begin()
      doing = this.#takeUp()
    }
  }

  entries(): Promise<readonly Entry[]> {
    return this.store.read({ ...LOCAL_OWNER, contextId: this.#contextId }, { limit: 100_000 })
  }

  async #perform(deed: Deed): Promise<void> {
    switch (deed.do) {
      case 'say':
        return this.#say(deed.text, deed.cancelAt)
      case 'answer':
        return this.#answer(deed.value)
      case 'continue':
        await this.#agent.executeTurn(null).outcome
        return
      case 'clear':
        return this.#agent.clear().catch(ignoreRefusal)
      case 'compact':
        await this.#agent.compact({ keep: deed.keep, strategy: deed.strategy }).catch(ignoreRefusal)
        return
      case 'import':
        await this.#agent.importMessages(deed.history).catch(ignoreRefusal)
        return
      case 'pause':
        await this.#agent.pause()
        await this.#agent.resume()
        return
      case 'fork':
        return this.#fork()
      case 'restart':
        return this.#restart()
      case 'change': {
        const { do: _, model, maxTokens, ...config } = deed
        this.#model = model
        this.#config = { ...config, ...(maxTokens === undefined ? {} : { maxTokens }) }
        return this.#restart()
      }
      case 'die':
        this.#death = deed.death
        return this.#restart()
    }
  }

  async #say(text: string, cancelAt: number | undefined): Promise<void> {
    const turn = this.#agent.executeTurn(text)
    if (cancelAt !== undefined) {
      let seen = 0
      for await (const _ of turn) if (++seen === cancelAt) await turn.cancel('enough')
    }
    await turn.outcome
  }

  async #answer(value: boolean | string): Promise<void> {
    const requests = await this.#agent.requests()
    const answers = requests.map(({ requestId, kind }) => [
      requestId,
      kind === 'text' ? String(value) : value === true,
    ])
    if (answers.length > 0) await this.#agent.answer(Object.fromEntries(answers) as never).outcome
  }

  async #fork(): Promise<void> {
    const contextId = `${this.#contextId.split('~')[0]}~${this.#mortals.length}-${this.dice.roll(1000)}`
    try {
      await this.#agent.fork(contextId)
      this.#contextId = contextId
    } catch (error) {
      ignoreRefusal(error)
    }
    await this.#restart()
  }

  async #restart(): Promise<void> {
    const mortal = this.#mortal
    await this.#agent.shutdown()
    // Died of it, but its timer has run on: `act` begins the next process.
    if (!mortal.isAlive) return new Promise(() => {})
    this.#begin()
    await this.#takeUp()
  }

  async #takeUp(): Promise<void> {
    await this.#agent.start()
    await this.#agent.turn?.outcome
  }

  #begin(): void {
    const name = `p${this.#mortals.length + 1}`
    this.#mortal = new Mortal(name, this.store, this.#death)
    this.#death = undefined
    this.#mortals.push(this.#mortal)
    void this.#mortal.died.then(() => this.#dead.resolve('died'))
    const model = new ScriptedModel(() => this.#reply(), {
      name: MODELS[this.#model] ?? MODELS[0],
      timer: eagerTimer,
    })
    this.models.push(model)
    this.#agent = new Agent({
      contextId: this.#contextId,
      model,
      systemPrompt: 'Be kind.',
      tools: this.#tools(),
      store: this.#mortal.store,
      clock: this.#clock,
      timer: eagerTimer,
      ids: { next: (prefix) => idOf(this.#mortal, prefix) },
      limits: { iterations: 4, toolCalls: 6 },
      ...(this.#hooked ? { on: hooks(this.dice) } : {}),
      ...this.#config,
    })
  }

  #reply(): ScriptedStep {
    const { dice } = this
    const call = (): { tool: string; args?: string | { n: number } } =>
      dice.pick([
        { tool: 'look', args: { n: dice.roll(5) } },
        { tool: 'look' },
        { tool: 'fail' },
        { tool: 'wait' },
        { tool: 'ask' },
        { tool: 'pay' },
        { tool: 'nudge' },
        { tool: 'functions.look:1 é' },
        { tool: 'look', args: '{"n": ' },
        { tool: 'look', args: '{"n":"many"}' },
      ])
    const calls = Array.from({ length: 1 + dice.roll(3) }, call)
    return dice.pick<ScriptedStep>([
      'Well.',
      { calls },
      { calls },
      { text: 'Let me see.', calls },
      { text: 'Let me see.', reasoning: 'Hm.', calls },
      { reasoning: 'Only thoughts.' },
      ' \n ',
      '',
      { text: 'Cut o', finish: 'none' },
      { text: 'Too long', finish: 'length' },
      { error: { status: 503 } },
      { error: { status: 400, message: 'No.' } },
      { error: { status: 500 }, after: 'Half a' },
    ])
  }

  #tools(): Tool[] {
    const tool = (name: string, run: () => unknown, approve?: 'always'): Tool =>
      defineTool({
        name,
        description: `does ${name}`,
        input: INPUT,
        ...(approve === undefined ? {} : { approve }),
        run: () => this.#mortal.act('effect', run),
      })
    return [
      tool('look', () =>
        this.dice.pick<unknown>([{ seen: 1 }, 'a text', '', null, ['x'], '\ud800', LONG, { rows: [LONG] }]),
      ),
      tool('fail', () => {
        throw new Error(this.dice.pick(['broken', '']))
      }),
      tool('wait', async () => {
        for (let rounds = this.dice.roll(8); rounds > 0; rounds--) await new Promise(setImmediate)
      }),
      tool('ask', () => ask({ kind: 'text', prompt: 'Which?', name: `q${this.dice.roll(3)}` })),
      tool('pay', () => ({ paid: true }), 'always'),
      tool('nudge', () => {
        const whileBusy = this.dice.pick(['steer', 'steer', 'interrupt'] as const)
        if (whileBusy === 'steer') this.#agent.executeTurn('Faster!', { whileBusy })
        else void this.#agent.cancel('enough')
      }),
    ]
  }
}

/** Hooks that do what the dice say, most of the time nothing. */
function hooks(dice: Dice): Hooks {
  const common = ({
    add,
    stop,
  }: {
    add?: (text: string) => void
    stop?: (reason?: string) => void
  }): void => {
    const what = dice.roll(60)
    if (what === 0) throw new Error('a hook that fails')
    if (what === 1) stop?.('enough')
    if (what > 48) add?.('A note.')
  }
  return {
    afterUserInput: common,
    beforeIteration: common,
    beforeLlm: (point) => {
      const { prompt, edit } = point
      const what = dice.roll(8)
      if (what === 0) edit({ messages: prompt.messages.filter(() => dice.roll(3) > 0) })
      if (what === 1) edit({ messages: [...prompt.messages, { role: 'user', content: 'Now.' }] })
      if (what === 2) edit({ messages: prompt.messages.toReversed(), system: '' })
      if (what === 3) edit({ tools: prompt.tools.slice(1), system: 'Be brief.' })
      if (what === 4) edit({ tools: [], messages: prompt.messages.slice(-1) })
      common(point)
    },
    afterLlm: (point) => {
      for (const { callId } of point.reply.calls) {
        const what = dice.roll(6)
        if (what === 0) point.edit(callId, { n: 1 })
        if (what === 1) point.reject(callId, 'no')
      }
      common(point)
    },
    beforeTools: (point) => {
      for (const { callId } of point.pending) if (dice.roll(8) === 0) point.reject(callId, 'no')
      common(point)
    },
    beforeEachTool: (point) => {
      if (dice.roll(8) === 0) point.edit({ n: 2 })
      common(point)
    },
    afterEachTool: common,
    afterTools: common,
    afterIteration: common,
    onError: common,
    onLimit: () => common({}),
    onComplete: common,
  }
}

/** Names of drivers say by a dot which process they belong to; on the wire ids have none. */
function idOf({ ids }: Mortal, prefix: string): string {
  const id = ids.next(prefix)
  return prefix === 'call' ? id.replace('.', '-') : id
}

/** To be told that something cannot be done now is an answer. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof Error) || error.name !== 'HoldfastError') throw error
}
