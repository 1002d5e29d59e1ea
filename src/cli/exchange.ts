/** Builds a readable history from a journal: messages, calls, requests and answers, turn by turn. */
import type { Json, JsonObject, Message, OutcomeReason, Usage, UserContent } from 'holdfast'
import type { Entry, EntryData, Session } from 'holdfast/journal'
import { trimBlank } from './terminal/text.ts'

export interface Exchange {
  readonly turn: number
  readonly at: number
  /** The name of the graph that ran. */
  readonly graph?: string
  /** The messages that the turn takes; none if it continues an earlier one. */
  readonly said: readonly string[]
  readonly steps: readonly Step[]
  /** Of the open turn: its calls without a result. */
  readonly openCalls?: readonly OpenCall[]
  /** Absent while it runs. */
  readonly outcome?: OutcomeReason
  readonly error?: string
  readonly limit?: string
  readonly usage?: Usage
  readonly durationMs?: number
}

export interface OpenCall {
  readonly callId: string
  readonly tool: string
  readonly args: Json
  readonly state: 'started' | 'asked' | 'waiting'
}

export type Step =
  | { readonly type: 'text' | 'said' | 'warning' | 'error'; readonly text: string }
  | {
      readonly type: 'call'
      readonly callId: string
      readonly tool: string
      readonly args: Json
      readonly status: EntryData['tool.end']['status']
      readonly output: Json
      readonly display?: string
    }
  /** The update or the failure of a node of a graph. */
  | { readonly type: 'node'; readonly task: string; readonly update?: JsonObject; readonly error?: string }
  | {
      readonly type: 'question'
      readonly requestId: string
      readonly kind: string
      readonly prompt: string
      /** The tool that asks or that waits for approval, from the journal. */
      readonly tool?: string
      /** Of an approval: the arguments of that call. */
      readonly approves?: Json
    }
  | { readonly type: 'answer'; readonly requestId: string; readonly how: string; readonly value?: Json }

interface Building extends Exchange {
  graph?: string
  said: string[]
  steps: Step[]
  openCalls?: readonly OpenCall[]
  outcome?: OutcomeReason
  error?: string
  limit?: string
  usage?: Usage
  durationMs?: number
}

/** The turns of a conversation from its entries, oldest first. Entries of no interest to people are left out. */
export function exchangesOf(entries: readonly Entry[], session?: Session): Exchange[] {
  const builder = new ExchangeBuilder()
  for (const entry of entries) builder.apply(entry)
  const { exchanges } = builder
  const last = exchanges.at(-1)
  if (last !== undefined && session?.open?.turn === last.turn) {
    const calls = openCallsOf(session, session.open)
    if (calls.length > 0) last.openCalls = calls
  }
  return exchanges
}

function openCallsOf({ graph }: Session, { calls, requests }: NonNullable<Session['open']>): OpenCall[] {
  const asking = new Set(requests.map(({ callId }) => callId))
  const ofTools = calls.flatMap(({ callId, tool, args, state }): OpenCall[] => {
    if (state === 'settled') return []
    return [
      { callId, tool, args, state: state === 'started' ? state : asking.has(callId) ? 'asked' : 'waiting' },
    ]
  })
  const effects = graph?.tasks.flatMap((task) => task.effects ?? []) ?? []
  const ofNodes = effects.flatMap(({ callId, key, status }): OpenCall[] =>
    status === undefined ? [{ callId, tool: key, args: null, state: 'started' }] : [],
  )
  return [...ofTools, ...ofNodes]
}

type EntryHandlers = { readonly [T in keyof EntryData]?: (data: EntryData[T], entry: Entry) => void }

class ExchangeBuilder {
  readonly exchanges: Building[] = []
  readonly #inputs = new Map<number, string>()
  readonly #calls = new Map<string, { readonly tool: string; readonly args: Json }>()
  readonly #handlers: EntryHandlers = {
    input: ({ message, values }, { seq }) =>
      void this.#inputs.set(seq, values === undefined ? textOf(message) : valuesText(values)),
    'turn.start': (_, entry) => {
      // A turn that goes on with a run, by an answer or after a limit, starts no graph.
      const graph = this.exchanges.at(-1)?.graph
      const of = graph === undefined ? {} : { graph }
      this.exchanges.push({ turn: entry.turn, at: entry.at, ...of, said: this.#taken(entry), steps: [] })
    },
    'graph.start': ({ graph }) => {
      const exchange = this.exchanges.at(-1)
      if (exchange !== undefined) exchange.graph = graph
    },
    take: ({ as }, entry) => {
      if (as === 'message') for (const text of this.#taken(entry)) this.#add({ type: 'said', text })
    },
    'model.end': (data) => this.#applyReply(data),
    'tool.start': (data) => void this.#calls.set(data.callId, data),
    'tool.end': (data) => this.#applyResult(data),
    'node.end': ({ task, update, error }) => {
      const why = typeof error?.['message'] === 'string' ? { error: error['message'] } : {}
      this.#add({ type: 'node', task, ...(update === undefined ? {} : { update }), ...why })
    },
    'effect.start': ({ callId, key }) => void this.#calls.set(callId, { tool: key, args: null }),
    'effect.end': (data) => this.#applyResult(data),
    'request.start': ({ requestId, kind, prompt, from, callId = '' }) => {
      const call = this.#calls.get(callId)
      const who = call === undefined ? {} : { tool: call.tool }
      const approves = call === undefined || from !== 'approval' ? {} : { approves: call.args }
      this.#add({ type: 'question', requestId, kind, prompt, ...who, ...approves })
    },
    'request.end': ({ requestId, how, value }) =>
      this.#add({ type: 'answer', requestId, how, ...(value === undefined ? {} : { value }) }),
    warning: ({ message }) => this.#add({ type: 'warning', text: message }),
    'turn.end': (data) => this.#end(data),
  }

  apply(entry: Entry): void {
    const handle = this.#handlers[entry.type as keyof EntryData] as
      | ((data: object, entry: Entry) => void)
      | undefined
    handle?.(entry.data, entry)
  }

  #taken({ takes = [] }: Pick<Entry, 'takes'>): string[] {
    return takes.flatMap((seq) => this.#inputs.get(seq) ?? [])
  }

  #applyReply({ content, error }: EntryData['model.end']): void {
    for (const part of content) {
      if (part.type === 'text' && trimBlank(part.text) !== '')
        this.#add({ type: 'text', text: trimBlank(part.text) })
      if (part.type === 'tool-call') this.#calls.set(part.callId, part)
    }
    const { message, next } = error ?? {}
    if (typeof message === 'string' && next !== 'fail') this.#add({ type: 'error', text: message })
  }

  #applyResult({ callId, status, output, display }: EntryData['tool.end']): void {
    const { tool = 'call', args = null } = this.#calls.get(callId) ?? {}
    const shown = display === undefined ? {} : { display }
    this.#add({ type: 'call', callId, tool, args, status, output, ...shown })
  }

  #end({ outcome, usage, durationMs, error, limit }: EntryData['turn.end']): void {
    const exchange = this.exchanges.at(-1)
    if (exchange === undefined) return
    Object.assign(exchange, { outcome, usage, durationMs })
    const message = error?.['message']
    if (typeof message === 'string') exchange.error = message
    if (limit !== undefined) exchange.limit = limit
  }

  #add(step: Step): void {
    this.exchanges.at(-1)?.steps.push(step)
  }
}

/** The message in the values of a flow, else the values. */
function valuesText(values: JsonObject): string {
  const { messages } = values
  const last = Array.isArray(messages) ? (messages.at(-1) as Partial<Message> | undefined) : undefined
  if (last?.role !== 'user' || last.content === undefined) return JSON.stringify(values)
  return textOf(last.content)
}

function textOf(message: UserContent): string {
  if (typeof message === 'string') return message
  return message
    .map((part) => (part.type === 'text' ? part.text : `[${part.name ?? part.mediaType}]`))
    .join('\n')
}
