/**
 * What the readers of all formats turn a history into, before anything is repaired: things said, in the order in which
 * they were found, with the ids of wherever they come from. Nothing here is promised to be legal.
 */
import type {
  Json,
  JsonObject,
  ReasoningPart,
  SettledStatus,
  TextPart,
  UserContent,
} from '../../protocol/index.ts'

export type ImportFormat =
  | 'ai-sdk'
  | 'openai'
  | 'openai-responses'
  | 'anthropic'
  | 'google'
  | 'langchain'
  | 'holdfast'

/** `at`: which item of the history it was found in. */
export type Said =
  | { readonly kind: 'system'; readonly at: number; readonly text: string }
  | { readonly kind: 'user'; readonly at: number; readonly content: UserContent; readonly by?: 'program' }
  | {
      readonly kind: 'assistant'
      readonly at: number
      readonly parts: readonly ForeignPart[]
      readonly model?: string
    }
  | { readonly kind: 'results'; readonly at: number; readonly results: readonly ForeignResult[] }

export type ForeignPart = TextPart | ReasoningPart | ForeignCall

export interface ForeignCall {
  readonly type: 'tool-call'
  /** What its result refers to. Some formats have none, and go by the name of the tool. */
  readonly id?: string
  /** Only what holdfast wrote itself has one that may stay. */
  readonly callId?: string
  readonly providerId?: string
  readonly tool: string
  readonly args: Json
  readonly malformed?: string
  readonly provider?: JsonObject
  /** What is known of it if no result is found. */
  readonly unanswered?: { readonly status: SettledStatus; readonly output: string }
}

export interface ForeignResult {
  readonly id?: string
  readonly tool?: string
  readonly status: SettledStatus
  readonly output: Json
}

/** Where one item of a history is read: its place, and where to say what could not be taken over as it was. */
export interface Reading {
  readonly at: number
  readonly note: (kind: RepairKind, said: string) => void
}

/** What was done to a history, in short. `Repair` has it with its place and in a sentence. */
export type RepairKind =
  | 'arguments-malformed'
  | 'empty-dropped'
  | 'file-unreadable'
  | 'id-repeated'
  | 'opening-added'
  | 'part-dropped'
  | 'provider-data-dropped'
  | 'result-duplicate'
  | 'result-missing'
  | 'result-moved'
  | 'result-orphan'
  | 'system-noted'

export interface Format {
  readonly name: ImportFormat
  /** For people: what an item of this format looks like. */
  readonly expected: string
  /** Could this item be read at all? The items are plain JSON. */
  readonly fits: (item: JsonObject) => boolean
  /** Puts together what several items say of one thing. There are as many items after it. */
  readonly join?: (items: readonly JsonObject[]) => readonly JsonObject[]
  readonly read: (item: JsonObject, reading: Reading) => readonly Said[]
}

/** Collects what one item says, reply by reply: whatever is said after a result belongs to the next reply. */
export class Replies {
  readonly #at: number
  readonly #model: { readonly model?: string }
  readonly #said: Said[] = []
  #parts: ForeignPart[] = []
  #results: ForeignResult[] = []

  constructor(at: number, model?: string) {
    this.#at = at
    this.#model = model === undefined ? {} : { model }
  }

  part(part: ForeignPart): void {
    if (part.type !== 'tool-call' && this.#results.length > 0) this.next()
    this.#parts.push(part)
  }

  result(result: ForeignResult): void {
    this.#results.push(result)
  }

  next(): void {
    if (this.#parts.length > 0)
      this.#said.push({ kind: 'assistant', at: this.#at, parts: this.#parts, ...this.#model })
    if (this.#results.length > 0) this.#said.push({ kind: 'results', at: this.#at, results: this.#results })
    this.#parts = []
    this.#results = []
  }

  /** An item that says nothing is said to be empty by whoever repairs. */
  said(): readonly Said[] {
    this.next()
    return this.#said.length > 0
      ? this.#said
      : [{ kind: 'assistant', at: this.#at, parts: [], ...this.#model }]
  }
}
