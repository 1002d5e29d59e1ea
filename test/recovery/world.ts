/**
 * One conversation and the processes that live through it: who says what, what the model replies, what tools do to the
 * world. A play can be repeated with a death at any point; whoever comes after brings it to its end.
 */
import { z } from 'zod'
import { Agent, type AgentConfig } from '../../src/agent/index.ts'
import { type Entry, type Json, LOCAL_OWNER, type Owner, type RequestData } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { ManualClock, ScriptedModel, type ScriptedStep } from '../../src/testing/index.ts'
import { defineTool, type Tool, type ToolContext, type ToolDefinition } from '../../src/tool/index.ts'
import { type Death, eagerTimer, Mortal } from './mortal.ts'

const INPUT: z.ZodObject<{ n: z.ZodOptional<z.ZodNumber> }> = z.object({ n: z.number().optional() })

/** What the one who talks to the agent does, again and again until it is done: each knows whether it was done before. */
export type Step = { readonly say: string } | { readonly answer: (request: RequestData) => Json }

export interface Play {
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

/** What outlives processes. */
export class World {
  readonly clock: ManualClock = new ManualClock(1000)
  readonly effects: Effect[] = []
  readonly mortals: Mortal[] = []
  /** How often a model was asked by anyone. */
  asked = 0
  readonly owner: Owner
  readonly #open: (process: string) => Store

  constructor(open: (process: string) => Store, owner: Owner = LOCAL_OWNER) {
    this.#open = open
    this.owner = owner
  }

  process(play: Play, death?: Death): Process {
    const name = `p${this.mortals.length + 1}`
    const mortal = new Mortal(name, this.#open(name), death)
    this.mortals.push(mortal)
    return new Process(this, play, mortal)
  }
}

export class Process {
  readonly world: World
  readonly mortal: Mortal
  readonly agent: Agent
  readonly #play: Play

  constructor(world: World, play: Play, mortal: Mortal) {
    this.world = world
    this.mortal = mortal
    this.#play = play
    this.agent = new Agent({
      contextId: 'talk',
      owner: world.owner,
      model: this.model(play.replies),
      store: mortal.store,
      clock: world.clock,
      timer: eagerTimer,
      ids: mortal.ids,
      ...play.config?.(this),
    })
  }

  /** Replies by what was said last, and by how often it has replied to that. So a new process goes on where one died. */
  model(replies: Play['replies'], name = 'scripted/model'): ScriptedModel {
    return new ScriptedModel(
      ({ prompt }) => {
        this.world.asked += 1
        const last = prompt.findLastIndex(({ role }) => role === 'user')
        const content = prompt[last]?.content ?? []
        const text = typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('')
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
        await this.mortal.act('effect', () => {
          this.world.effects.push({ process: this.mortal.name, tool: name, callId, key })
        })
        return { done: name, n }
      },
    })
  }

  /** Says something to the turn that runs, unless that was said before, and waits until it is durable. */
  async sayWhileRunning(text: string): Promise<void> {
    const isPosted = async () => (await this.entries()).some(({ key }) => key === text)
    if (!(await isPosted())) this.agent.executeTurn(text, { key: text, whileBusy: 'steer' })
    while (!(await isPosted())) await new Promise(setImmediate)
  }

  entries(): Promise<readonly Entry[]> {
    return this.mortal.store.read({ ...this.world.owner, contextId: 'talk' })
  }

  /** Plays from wherever the conversation stands. Ends early if the process dies. */
  async run(): Promise<'ended' | 'died'> {
    const playing = this.#playOn().then(() => 'ended' as const)
    return Promise.race([playing, this.mortal.died.then(() => 'died' as const)])
  }

  async #playOn(): Promise<void> {
    await this.agent.start()
    await this.#rest()
    for (const step of this.#play.steps) {
      if ('say' in step) await this.#say(step.say)
      else await this.#answer(step.answer)
      await this.#rest()
    }
  }

  /** Said again only if it never became durable. */
  async #say(text: string): Promise<void> {
    const isPosted = (await this.entries()).some(({ key }) => key === text)
    if (!isPosted) await this.agent.executeTurn(text, { key: text }).outcome
  }

  async #answer(answer: (request: RequestData) => Json): Promise<void> {
    const requests = await this.agent.requests()
    if (requests.length === 0) return
    const answers = Object.fromEntries(requests.map((request) => [request.requestId, answer(request)]))
    await this.agent.answer(answers).outcome
  }

  /** Until the agent has nothing more to do. */
  async #rest(): Promise<void> {
    await this.agent.turn?.outcome
    await this.agent.saveState()
  }
}

type Different = Pick<ToolDefinition<typeof INPUT, unknown>, 'replay' | 'exclusive' | 'approve' | 'verify'>
type Work = (context: ToolContext, n: number) => unknown
