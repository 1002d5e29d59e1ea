/** One generated case: a conversation, the tool of the last call, and the comparison with the guide. */
import { z } from 'zod'
import { defineTool, type JsonObject, type Tool, type ToolDefinition } from '../../../src/index.ts'
import { type Call, type End, Talk, type TalkOptions } from './conversation.ts'
import type { Dice } from './dice.ts'
import { type Kind, smallTalk } from './words.ts'

export type Wanted = 'run' | 'refuse' | 'ask'

/** The result of a generated call, beside the guide's. */
export interface GuideTrial {
  readonly way: string
  readonly wanted: Wanted
  /** Equal to `wanted` if the runtime and the guide agree. */
  readonly got: string
  readonly story?: string
  /** The refusal suggested an id. */
  readonly advised?: boolean
  /** The suggested id is not the intended one. */
  readonly misled?: boolean
}

export type Generator = (dice: Dice) => Promise<GuideTrial>

/** The guide's result for the last call. */
export interface Truth {
  readonly way: string
  readonly wanted: Wanted
  /** With `run`: the tool's input. With `ask`: its input after `answer` was picked. */
  readonly input?: unknown
  /** With `refuse`. */
  readonly reason?: string
  /** With `refuse`: the intended id. */
  readonly meant?: string
  /** With `ask`: the id whose option is picked. */
  readonly answer?: string
}

type Input = ToolDefinition<z.ZodType<JsonObject>, unknown>['input']

/** The tool under test: it records its input. */
export function actTool(
  got: unknown[],
  input: unknown,
  more: Partial<ToolDefinition<never, never>> = {},
): Tool {
  return defineTool({
    ...(more as object),
    name: 'act',
    description: 'Acts on something.',
    input: input as Input,
    run: (given) => {
      got.push(given)
      return { done: true }
    },
  })
}

/** A conversation with one tool under test, named `act`. */
export class Trial {
  readonly got: unknown[] = []
  readonly talk: Talk
  readonly dice: Dice

  constructor(dice: Dice, { input, act = {}, tools = [], ...options }: TrialOptions) {
    this.dice = dice
    this.talk = new Talk({ ...options, tools: [actTool(this.got, input, act), ...tools] })
  }

  /** Turns without tools and without anything that could be an id. */
  async noise(most = 2): Promise<void> {
    for (let left = this.dice.int(most + 1); left > 0; left--) await this.talk.smallTalk(smallTalk(this.dice))
  }

  /** The person writes `message`, the model makes the calls `before` and then the call under test. */
  async act(
    message: string,
    args: JsonObject,
    { before = [] }: { readonly before?: readonly Call[] } = {},
  ): Promise<End> {
    this.got.length = 0
    return this.talk.turn(message, [...before, { tool: 'act', args }])
  }

  async check(end: End, truth: Truth): Promise<GuideTrial> {
    return judge({ got: this.got, talk: this.talk, end }, truth)
  }
}

export interface TrialOptions extends Omit<TalkOptions, 'tools'> {
  readonly input: unknown
  readonly act?: Partial<ToolDefinition<never, never>>
  readonly tools?: readonly Tool[]
}

export interface Ended {
  readonly got: readonly unknown[]
  readonly talk: Talk
  readonly end: End
}

export async function judge({ got, talk, end }: Ended, truth: Truth): Promise<GuideTrial> {
  const { way, wanted, meant } = truth
  const seen =
    wanted === 'ask' ? await afterAnswer({ got, talk, end }, truth) : nameOf({ got, talk, end }, truth)
  const advised = wanted === 'refuse' && end.refusal?.next?.do === 'use' && meant !== undefined
  const misled = advised && end.refusal?.next.ids?.[0] !== meant
  return {
    way,
    wanted,
    got: seen,
    ...(seen === wanted && !misled ? {} : { story: `${JSON.stringify(truth)}\n${talk.story.join('\n')}` }),
    ...(meant === undefined ? {} : { advised, misled }),
  }
}

function nameOf({ got, end }: Ended, { wanted, input, reason }: Truth): string {
  if (got.length > 0) {
    const given = plain(got[0])
    return wanted !== 'run' || given === plain(input) ? 'run' : `run with ${given}`
  }
  if (end.status === 'input-required') return 'ask'
  if (end.refusal === undefined) return end.status
  if (end.refusal.reason === undefined) return `refuse: ${JSON.stringify(end.refusal).slice(0, 200)}`
  return wanted === 'refuse' && reason !== undefined && reason !== end.refusal.reason
    ? `refuse as ${end.refusal.reason}`
    : 'refuse'
}

/** A question is right if each option stands for one thing, and picking one runs the call with it. */
async function afterAnswer(ended: Ended, truth: Truth): Promise<string> {
  const asked = nameOf(ended, truth)
  const [request] = ended.end.requests
  if (asked !== 'ask' || request === undefined || truth.answer === undefined) return asked
  const picked = (request.options ?? []).find((option) => JSON.stringify(option).includes(truth.answer ?? ''))
  if (picked === undefined) return `ask without ${truth.answer}`
  const end = await ended.talk.answer({ [request.requestId]: picked as string })
  const after = nameOf({ ...ended, end }, { ...truth, wanted: 'run' })
  return after === 'run' ? 'ask' : `ask, then ${after}`
}

/** JSON in one order of keys; a set is a list. */
function plain(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (part instanceof Set) return [...(part as Set<unknown>)]
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    return Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  })
}

/** `{ id }` with the mark of an entity. */
export function oneId(kind: Kind): z.ZodType {
  return z.object({ id: z.string().meta(kind.entity.id()) })
}
