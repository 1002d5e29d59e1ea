/**
 * A real conversation of a generated case: an agent on the memory store, a model that writes the given calls, and tools
 * that show and select as the case requires. Records each run with its input.
 */
import { z } from 'zod'
import type { Entity, Selection } from '../../../src/entry/grounding.ts'
import {
  Agent,
  type AgentConfig,
  defineTool,
  type JsonObject,
  memoryStore,
  type Tool,
  type TurnOptions,
} from '../../../src/index.ts'
import { ManualClock, ScriptedModel, type ScriptedStep } from '../../../src/testing/index.ts'

export interface Row {
  readonly id: string | number
  readonly name?: string
  /** The id of its parent. */
  readonly of?: string | number
}

export interface Call {
  readonly tool: string
  readonly args: JsonObject
}

export interface Refusal {
  readonly reason: string
  readonly path: string
  readonly next: { readonly do: string; readonly ids?: readonly string[]; readonly tool?: string }
}

export interface End {
  readonly status: string
  readonly text: string
  /** The refusal of the turn's last call. */
  readonly refusal?: Refusal
  readonly requests: readonly { readonly requestId: string; readonly options?: readonly unknown[] }[]
}

export interface TalkOptions extends Partial<Omit<AgentConfig, 'entities' | 'tools'>> {
  readonly entities: readonly Entity[]
  readonly tools: readonly Tool[]
}

const HOUR = 3_600_000
const SECOND = 1000

export class Talk {
  readonly clock: ManualClock
  /** A case may continue with a fork. */
  agent: Agent
  readonly story: string[] = []
  readonly #replies: ScriptedStep[] = []

  constructor({ clock, tools, entities, ...options }: TalkOptions) {
    this.clock = clock instanceof ManualClock ? clock : new ManualClock()
    this.agent = new Agent({
      contextId: 'talk',
      store: memoryStore({ clock: this.clock }),
      ...options,
      model: new ScriptedModel(() => this.#replies.shift() ?? 'Done.'),
      clock: this.clock,
      entities: [...entities],
      tools: [showTool(entities), chooseTool(entities), ...tools],
    })
  }

  /** One turn: the person writes `message`, the model writes each of `calls` in a reply of its own. */
  async turn(message: string | null, calls: readonly Call[] = [], options: TurnOptions = {}): Promise<End> {
    this.story.push(`person: ${message}`)
    for (const call of calls) {
      this.story.push(`  call ${call.tool} ${JSON.stringify(call.args)}`)
      this.#replies.push({ calls: [call] })
    }
    return this.#follow(this.agent.executeTurn(message, options))
  }

  /** The model replies with a text and no call. */
  async smallTalk(message: string, reply = 'Fine.'): Promise<void> {
    this.story.push(`person: ${message}`, `  model: ${reply}`)
    this.#replies.push(reply)
    await this.#follow(this.agent.executeTurn(message))
  }

  async answer(answers: Parameters<Agent['answer']>[0], calls: readonly Call[] = []): Promise<End> {
    this.story.push(`answer: ${JSON.stringify(answers)}`)
    for (const call of calls) {
      this.story.push(`  call ${call.tool} ${JSON.stringify(call.args)}`)
      this.#replies.push({ calls: [call] })
    }
    return this.#follow(this.agent.answer(answers))
  }

  async select(...selections: readonly Selection[]): Promise<void> {
    this.story.push(`program selects ${JSON.stringify(selections)}`)
    await this.agent.select(...selections)
    this.clock.advance(SECOND)
  }

  pass(hours: number): void {
    this.story.push(`${hours} h pass`)
    this.clock.advance(hours * HOUR)
  }

  async #follow(turn: ReturnType<Agent['executeTurn']>): Promise<End> {
    // Gap: of a selection and a sighting in the same millisecond, neither is newer.
    let refusal: Refusal | undefined
    for await (const event of turn) {
      if (event.type !== 'tool.end') continue
      const { status, output } = event.data as { status: string; output: unknown }
      this.story.push(`    ${status} ${JSON.stringify(output)?.slice(0, 600)}`)
      if (event.path === undefined || event.path.length === 0)
        refusal = status === 'rejected' ? (output as Refusal) : undefined
    }
    const outcome = await turn.outcome
    this.clock.advance(SECOND)
    this.#replies.length = 0
    this.story.push(`  ends ${outcome.status} ${outcome.error?.message ?? ''}`)
    for (const { prompt } of outcome.requests) this.story.push(`  asks ${prompt}`)
    return {
      status: outcome.status,
      text: outcome.text ?? '',
      requests: outcome.requests,
      ...(refusal === undefined ? {} : { refusal }),
    }
  }
}

/** A call that shows rows: `show({ task: [{ id, name, of }] })`. */
export function show(rows: { readonly [entity: string]: readonly Row[] }): Call {
  return { tool: 'show', args: { rows } as unknown as JsonObject }
}

/** A call of a tool that selects by itself, or carries out a person's choice. */
export function choose(entity: string, id: string, more: { label?: string; by?: 'person' } = {}): Call {
  return { tool: 'choose', args: { entity, id, ...more } }
}

const ROWS = z.record(
  z.string(),
  z.array(
    z.object({
      id: z.union([z.string(), z.number()]),
      name: z.string().optional(),
      of: z.union([z.string(), z.number()]).optional(),
    }),
  ),
)

function showTool(entities: readonly Entity[]): Tool {
  return defineTool({
    name: 'show',
    description: 'Shows rows.',
    input: z.object({ rows: ROWS }),
    run: ({ rows }) => rows,
    returns: (rows) =>
      entities.flatMap((kind) => kind.rows(rows[kind.name] ?? [], { id: 'id', label: 'name', parent: 'of' })),
  })
}

function chooseTool(entities: readonly Entity[]): Tool {
  return defineTool({
    name: 'choose',
    description: 'Chooses one.',
    input: z.object({
      entity: z.string(),
      id: z.string(),
      label: z.string().optional(),
      by: z.literal('person').optional(),
    }),
    run: (input) => input,
    selects: ({ entity: name, id, label, by }) =>
      entities
        .filter((kind) => kind.name === name)
        .map((kind) =>
          kind.select(id, { ...(label === undefined ? {} : { label }), ...(by === undefined ? {} : { by }) }),
        ),
  })
}
