/** Foreign histories in one form, before repair: items in their original order and with their original ids. */
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

/** `at`: index of the source item in the history. */
export type HistoryItem =
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
  /** The id that its result refers to. Formats without ids use the tool's name. */
  readonly id?: string
  /** Present only in holdfast's own messages, whose ids may stay. */
  readonly callId?: string
  readonly providerId?: string
  readonly tool: string
  readonly args: Json
  readonly malformed?: string
  readonly provider?: JsonObject
  /** Its result if none is found. */
  readonly unanswered?: { readonly status: SettledStatus; readonly output: string }
}

export interface ForeignResult {
  readonly id?: string
  readonly tool?: string
  readonly status: SettledStatus
  readonly output: Json
}

/** The item being read: its index, and the reporter of repairs. */
export interface Reading {
  readonly at: number
  readonly note: (kind: RepairKind, text: string) => void
}

/** The kind of a repair. `Repair` adds the index and a sentence. */
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
  /** Describes an item of this format for people. */
  readonly expected: string
  /** True if this item is readable. Items are plain JSON. */
  readonly fits: (item: JsonObject) => boolean
  /** Joins data that is spread over several items. Keeps the number of items. */
  readonly join?: (items: readonly JsonObject[]) => readonly JsonObject[]
  readonly read: (item: JsonObject, reading: Reading) => readonly HistoryItem[]
}

/** Collects the replies of one item: a text after a result begins the next reply. */
export class Replies {
  readonly #at: number
  readonly #model: { readonly model?: string }
  readonly #items: HistoryItem[] = []
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
      this.#items.push({ kind: 'assistant', at: this.#at, parts: this.#parts, ...this.#model })
    if (this.#results.length > 0) this.#items.push({ kind: 'results', at: this.#at, results: this.#results })
    this.#parts = []
    this.#results = []
  }

  /** An empty item becomes an empty reply, which `repair` drops with a note. */
  items(): readonly HistoryItem[] {
    this.next()
    return this.#items.length > 0
      ? this.#items
      : [{ kind: 'assistant', at: this.#at, parts: [], ...this.#model }]
  }
}
