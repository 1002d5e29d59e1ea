/** The guard on ids: its cost does not depend on the number of known ids (R13). */
import { Agent, defineTool, jsonSchema, type LanguageModel } from 'holdfast'
import { entity } from 'holdfast/grounding'
import { sqliteStore } from 'holdfast/sqlite'
import { GROUNDING } from '../kit/budgets.ts'
import { interleave, millisOf } from '../kit/measure.ts'
import { type Case, compare } from '../kit/result.ts'

const FEW = 100
const MANY = 10_000
const PAGE = 100

export const grounding: Case = {
  name: 'grounding',
  title: 'a guarded call with 10,000 known ids against one with 100',
  measured:
    'a whole turn of an agent with one call whose id must have been seen: the id was shown long ago, and no prompt has it any more, so it is found in the index. NORMAL, a window of 10 messages.',
  notMeasured: 'the model and the tool, which answer at once; what a refusal costs.',
  run: async (lab) => {
    const store = sqliteStore(lab.path('grounding.db'), { synchronous: 'NORMAL' })
    const open = (contextId: string) => new Talk(contextId, store)
    const [few, many] = [open('few'), open('many')]
    await few.show(FEW)
    await many.show(MANY)
    const turns = lab.short ? 60 : 150
    const { short, long } = await interleave(
      { rounds: lab.short ? 7 : 15, seconds: lab.seconds },
      {
        short: async () => 1000 * (await millisOf(turns, () => few.use())),
        long: async () => 1000 * (await millisOf(turns, () => many.use())),
      },
    )
    await store.close()
    const row = {
      what: 'a turn with a guarded call',
      unit: 'µs',
      baseline: ['100 ids', short],
      subject: ['10,000 ids', long],
      budget: GROUNDING,
    } as const
    return [compare(row)]
  },
}

const thing = entity('thing', { scope: 'conversation' })

/** A conversation that has seen so many things, and uses one of them after the other. */
class Talk {
  readonly #agent: Agent
  #known = 0
  #next = 0
  #call: { readonly tool: string; readonly args: object } = { tool: 'show', args: { from: 0 } }

  constructor(contextId: string, store: ReturnType<typeof sqliteStore>) {
    const show = defineTool({
      name: 'show',
      description: 'Shows things.',
      input: jsonSchema<{ from: number }>({ type: 'object', properties: { from: { type: 'number' } } }),
      run: ({ from }) =>
        Array.from({ length: PAGE }, (_, i) => ({ id: `thing-${from + i}`, name: `No. ${from + i}` })),
      returns: (rows) => thing.rows(rows, { id: 'id', label: 'name' }),
    })
    const use = defineTool({
      name: 'use',
      description: 'Uses a thing.',
      input: jsonSchema<{ thingId: string }>({
        type: 'object',
        properties: { thingId: { type: 'string', ...thing.id() } },
      }),
      run: ({ thingId }) => ({ used: thingId }),
    })
    this.#agent = new Agent({
      contextId,
      store,
      model: this.#model(),
      tools: [show, use],
      entities: [thing],
      maxMessages: 10,
    })
  }

  async show(count: number): Promise<void> {
    for (; this.#known < count; this.#known += PAGE) {
      this.#call = { tool: 'show', args: { from: this.#known } }
      await this.#agent.input('Show more')
    }
    // The last sightings must not be in the window.
    for (let i = 0; i < 10; i++) await this.use()
  }

  async use(): Promise<void> {
    this.#next = (this.#next + 7919) % (this.#known - PAGE || this.#known)
    this.#call = { tool: 'use', args: { thingId: `thing-${this.#next}` } }
    const turn = this.#agent.executeTurn('Use it')
    let status = 'not run'
    for await (const event of turn) if (event.type === 'tool.end') status = event.data.status
    if (status !== 'ok') throw new Error(`The call was ${status}: ${JSON.stringify(await turn.outcome)}`)
  }

  #model(): LanguageModel {
    return {
      specificationVersion: 'v3',
      provider: 'bench',
      modelId: 'user-of-things',
      doStream: async ({ prompt }) => {
        const { tool, args } = this.#call
        const isDone = prompt.some(({ role }, i) => role === 'tool' && i > prompt.findLastIndex(isAsked))
        const parts = isDone
          ? [
              { type: 'text-start', id: '1' },
              { type: 'text-delta', id: '1', delta: 'Done.' },
              { type: 'text-end', id: '1' },
              finish('stop'),
            ]
          : [
              { type: 'tool-call', toolCallId: 'c', toolName: tool, input: JSON.stringify(args) },
              finish('tool-calls'),
            ]
        return { stream: ReadableStream.from([{ type: 'stream-start' }, ...parts]) as never }
      },
    }
  }
}

function isAsked({ role, content }: { readonly role: string; readonly content: unknown }): boolean {
  const [part] = Array.isArray(content) ? (content as { readonly text?: string }[]) : []
  return role === 'user' && (part?.text === 'Use it' || part?.text === 'Show more')
}

function finish(unified: string): object {
  const usage = { inputTokens: { total: 10 }, outputTokens: { total: 5 } }
  return { type: 'finish', finishReason: { unified, raw: unified }, usage }
}
