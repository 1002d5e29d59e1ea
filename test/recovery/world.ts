/**
 * One conversation and the processes that live through it: who says what, what the model replies, what tools do to the
 * world. A play can be repeated with a death at any point; whoever comes after brings it to its end.
 */
import { rmSync } from 'node:fs'
import { z } from 'zod'
import { Agent, type AgentConfig, type Turn } from '../../src/agent/index.ts'
import type { Clock, Ids } from '../../src/base/index.ts'
import { type Entry, type Json, LOCAL_OWNER, type Owner, type RequestData } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { ManualClock, ScriptedModel, type ScriptedStep } from '../../src/testing/index.ts'
import type { ScriptedRequest } from '../../src/testing/scripted-model.ts'
import { defineTool, type Tool, type ToolContext, type ToolDefinition } from '../../src/tool/index.ts'
import { memoryFolder } from '../memory-folder.ts'
import { type Death, eagerTimer, Mortal } from './mortal.ts'

const INPUT: z.ZodObject<{ n: z.ZodOptional<z.ZodNumber> }> = z.object({ n: z.number().optional() })

/** What the one who talks to the agent does, again and again until it is done: each knows whether it was done before. */
export type Step =
  | { readonly say: string }
  /** Said one right after the other: the later ones wait for their turn. */
  | { readonly queue: readonly string[] }
  | { readonly answer: (request: RequestData) => Json }
  | { readonly once: (process: Process) => Promise<unknown>; readonly leaves: string }

export interface Script {
  readonly name: string
  readonly steps: readonly Step[]
  /** For each thing said: the replies to it, one after the other. */
  readonly replies: Readonly<Record<string, readonly ScriptedStep[]>>
  readonly config?: (process: Process) => Partial<AgentConfig>
}

export interface Effect {
  readonly process: string
  readonly tool: string
  readonly callId: string
  readonly key: string
}

/** What is around a process and outlives it. */
export interface Surroundings {
  readonly owner: Owner
  readonly clock: Clock
  /** How often a model was asked by anyone. */
  readonly asked: number
  countAsked(): void
  hasHappened(callId: string): boolean
}

export interface SurroundingsWithFolder extends Surroundings {
  /** For tools that write files. It is made when it is asked for. */
  readonly folder: string
}

/** What a process is made of, and how it dies. */
export interface Body {
  readonly store: Store
  readonly ids: Ids
  readonly died: Promise<void>
  /** Does to the world what a tool does to it. */
  effect(effect: Omit<Effect, 'process'>): Promise<void>
  /** Listens to a turn, from its beginning. */
  listen?(turn: Turn): void
  readonly config?: Partial<AgentConfig>
}

/** A world inside of this process. */
export class World implements SurroundingsWithFolder {
  readonly clock: ManualClock = new ManualClock(1000)
  readonly effects: Effect[] = []
  readonly mortals: Mortal[] = []
  asked = 0
  readonly owner: Owner
  readonly #open: (process: string) => Store
  #folder: string | undefined

  constructor(open: (process: string) => Store, owner: Owner = LOCAL_OWNER) {
    this.#open = open
    this.owner = owner
  }

  countAsked(): void {
    this.asked += 1
  }

  hasHappened(callId: string): boolean {
    return this.effects.some((effect) => effect.callId === callId)
  }

  get folder(): string {
    this.#folder ??= memoryFolder('holdfast-world-')
    return this.#folder
  }

  /** Removes what is left on the disk. */
  end(): void {
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true })
  }

  process(play: Script, death?: Death): Process {
    const name = `p${this.mortals.length + 1}`
    const mortal = new Mortal(name, this.#open(name), death)
    this.mortals.push(mortal)
    const { store, ids, died } = mortal
    const effect: Body['effect'] = (done) =>
      mortal.act('effect', () => void this.effects.push({ process: name, ...done }))
    return new Process(this, play, { store, ids, died, effect })
  }
}

export class Process {
  readonly world: SurroundingsWithFolder
  readonly agent: Agent
  readonly #body: Body
  readonly #play: Script

  constructor(world: SurroundingsWithFolder, play: Script, body: Body) {
    this.world = world
    this.#body = body
    this.#play = play
    this.agent = new Agent({
      contextId: 'talk',
      owner: world.owner,
      model: this.model(play.replies),
      store: body.store,
      clock: world.clock,
      timer: eagerTimer,
      ids: body.ids,
      ...play.config?.(this),
      ...body.config,
    })
  }

  /** Replies by what was said last, and by how often it has replied to that. So a new process goes on where one died. */
  model(replies: Script['replies'], name = 'scripted/model'): ScriptedModel {
    return new ScriptedModel(
      ({ prompt }) => {
        this.world.countAsked()
        const last = prompt.findLastIndex(
          (message) => message.role === 'user' && !isReminder(textOf(message)),
        )
        const text = textOf(prompt[last])
        const replied = prompt.slice(last + 1).filter(({ role }) => role === 'assistant').length
        const step = replies[text]?.[replied]
        if (step === undefined) throw new Error(`No reply number ${replied + 1} to ${JSON.stringify(prompt)}`)
        return step
      },
      { name, timer: eagerTimer },
    )
  }

  /** A tool whose effect is remembered by the world, after `work` if it is given. */
  tool(name: string, different: Different = {}, work: Work = () => {}): Tool {
    return defineTool<typeof INPUT, unknown>({
      name,
      description: `does ${name}`,
      input: INPUT,
      ...different,
      run: async ({ n = 0 }, context) => {
        const asked = await work(context, n)
        if (asked !== undefined) return asked
        // Results of one round come one after the other.
        for (let turns = 0; turns < n; turns++) await new Promise(setImmediate)
        const { callId, idempotencyKey: key } = context
        await this.#body.effect({ tool: name, callId, key })
        return { done: name, n }
      },
    })
  }

  /** A tool that does something itself; the world remembers that it began to. */
  remembered(tool: Tool): Tool {
    return {
      ...tool,
      run: async (input, context) => {
        const { callId, idempotencyKey: key } = context
        await this.#body.effect({ tool: tool.name, callId, key })
        return tool.run(input, context)
      },
    }
  }

  /** Says something to the turn that runs, unless that was said before, and waits until it is durable. */
  async sayWhileRunning(text: string): Promise<void> {
    if (!(await this.#isPosted(text)))
      this.#follow(this.agent.executeTurn(text, { key: text, whileBusy: 'steer' }))
    while (!(await this.#isPosted(text))) await new Promise(setImmediate)
  }

  entries(): Promise<readonly Entry[]> {
    return this.#body.store.read({ ...this.world.owner, contextId: 'talk' })
  }

  /** Plays from wherever the conversation stands. Ends early if the process dies. */
  async run(): Promise<'ended' | 'died'> {
    const playing = this.#playOn().then(() => 'ended' as const)
    return Promise.race([playing, this.#body.died.then(() => 'died' as const)])
  }

  async #playOn(): Promise<void> {
    await this.agent.start()
    if (this.agent.turn !== undefined) this.#follow(this.agent.turn)
    await this.#rest()
    for (const step of this.#play.steps) {
      if ('say' in step) await this.#say(step.say)
      else if ('queue' in step) await Promise.all(step.queue.map((text) => this.#say(text)))
      else if ('answer' in step) await this.#answer(step.answer)
      else if (!(await this.entries()).some(({ type }) => type === step.leaves)) await step.once(this)
      await this.#rest()
    }
  }

  /** Said again only if it never became durable. */
  async #say(text: string): Promise<void> {
    if (!(await this.#isPosted(text))) await this.#follow(this.agent.executeTurn(text, { key: text })).outcome
  }

  async #isPosted(text: string): Promise<boolean> {
    return (await this.entries()).some(({ key }) => key === text)
  }

  async #answer(answer: (request: RequestData) => Json): Promise<void> {
    const requests = await this.agent.requests()
    if (requests.length === 0) return
    const answers = Object.fromEntries(requests.map((request) => [request.requestId, answer(request)]))
    await this.#follow(this.agent.answer(answers)).outcome
  }

  #follow(turn: Turn): Turn {
    this.#body.listen?.(turn)
    return turn
  }

  /** Until the agent has nothing more to do. What lies in the inbox is taken without being asked for. */
  async #rest(): Promise<void> {
    const key = { ...this.world.owner, contextId: 'talk' }
    for (;;) {
      await this.agent.turn?.outcome
      await this.agent.saveState()
      const head = await this.#body.store.head(key)
      if (head === undefined || (head.pending === 0 && head.status !== 'running')) return
      await new Promise(setImmediate)
    }
  }
}

function textOf(message: ScriptedRequest['prompt'][number] | undefined): string {
  const { content = [] } = message ?? {}
  return typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('')
}

/** What nobody said: things that were seen, and what is chosen. */
function isReminder(text: string): boolean {
  return text.startsWith('[Seen before') || text.startsWith('[Current state')
}

type Different = Pick<ToolDefinition<typeof INPUT, unknown>, 'replay' | 'exclusive' | 'approve' | 'verify'>
type Work = (context: ToolContext, n: number) => unknown
