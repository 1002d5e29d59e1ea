/**
 * Converts histories of other frameworks to messages. Repairs them deterministically, and reports every repair. Pure:
 * reads no clock and no store, and never changes its input.
 */
import {
  boundedReplacer,
  checkOptions,
  defined,
  isDeeperThan,
  type JsonObject,
  type Message,
  type OptionSet,
  type Repair,
} from '../../protocol/index.ts'
import type { ForeignPart, HistoryItem, ImportFormat } from './foreign.ts'
import { isObject, joinedText, partsOf, textIn } from './pieces.ts'
import { detectFormat, invalidHistory, wrongMessage } from './recognise.ts'
import { repair } from './repair.ts'

export interface ImportOptions {
  /** Detected if not given. */
  readonly format?: ImportFormat
  /**
   * The replying model, as `provider/model`, where the history does not name it. Signatures and the like are kept only
   * for a known model, to which they may be returned (R10).
   */
  readonly model?: string
}

export interface Imported {
  /** A legal transcript: the user comes first, and every call is answered right after its message (R9). */
  readonly messages: readonly Message[]
  /** In the order of the history. Empty if there were none. */
  readonly repairs: readonly Repair[]
  readonly format: ImportFormat
  /** The leading system prompt, which is not among the messages. */
  readonly system?: string
}

/**
 * A list of messages, or the request that held it (`{ messages, system }`, `{ contents, systemInstruction }`, `{ input,
 * instructions }`). Throws `invalid-option` with the index for an input that is no history, or mixes formats.
 */
export function importMessages(history: unknown, options: ImportOptions = {}): Imported {
  checkOptions(options, IMPORT)
  const { model } = options
  if (model !== undefined && textIn(model) === undefined)
    throw invalidHistory('model must be a text, such as anthropic/claude-sonnet-4-5.')
  const { list, prompt } = unwrapped(history)
  const items = list.map(plainItem)
  const format = detectFormat(items, options.format)
  const repairs: Repair[] = []
  const note = (at: number, kind: string, text: string) => void repairs.push({ at, kind, said: text })
  const read = (format.join?.(items) ?? items).flatMap((item, at) =>
    format.read(item, { at, note: (kind, text) => note(at, kind, text) }),
  )
  const joint = format.name === 'openai-responses' ? joined(read) : read
  const opening: readonly HistoryItem[] = prompt === '' ? [] : [{ kind: 'system', at: 0, text: prompt }]
  const { messages, system } = repair([...opening, ...joint], {
    note,
    ...defined({ model }),
  })
  return {
    messages,
    repairs: repairs.toSorted((a, b) => a.at - b.at),
    format: format.name,
    ...defined({ system }),
  }
}

const IMPORT: OptionSet<ImportOptions> = {
  place: 'importMessages()',
  options: { format: null, model: null },
}

function unwrapped(history: unknown): { readonly list: readonly unknown[]; readonly prompt: string } {
  if (Array.isArray(history)) return { list: history, prompt: '' }
  const { messages, contents, input, system, systemInstruction, instructions } = isObject(history)
    ? history
    : ({} as JsonObject)
  const list = messages ?? contents ?? input
  if (!Array.isArray(list))
    throw invalidHistory(
      'A history must be a list of messages, or an object with messages, contents or input.',
    )
  const raw = system ?? systemInstruction ?? instructions
  const parts = isObject(raw) ? raw['parts'] : raw
  return { list, prompt: joinedText(partsOf(parts, { at: 0, note: () => {} })) }
}

/** Joins consecutive reply parts of the Responses API into one reply. */
function joined(items: readonly HistoryItem[]): readonly HistoryItem[] {
  const replies: HistoryItem[] = []
  let parts: ForeignPart[] | undefined
  for (const one of items) {
    if (one.kind === 'assistant' && parts !== undefined) parts.push(...one.parts)
    else if (one.kind === 'assistant') {
      parts = [...one.parts]
      replies.push({ ...one, parts })
    } else {
      parts = undefined
      replies.push(one)
    }
  }
  return replies
}

/** Bounds recursion over the history. */
const DEEPEST = 200

/** An item as plain JSON: live objects by their `toJSON`, bytes as base64. */
function plainItem(item: unknown, at: number): JsonObject {
  let copy: unknown
  try {
    const bounded = boundedReplacer()
    const text = JSON.stringify(item, function (key, value: unknown) {
      return bounded(key, toPlain.call(this, key, value))
    })
    copy = text === undefined ? undefined : JSON.parse(text)
  } catch (cause) {
    const [why] = String((cause as Error | null)?.message ?? cause).split('\n')
    throw wrongMessage(at, `cannot be written as JSON (${why})`)
  }
  if (!isObject(copy)) throw wrongMessage(at, 'is not an object. Pass a message')
  if (isDeeperThan(DEEPEST, copy)) throw wrongMessage(at, `is nested more than ${DEEPEST} levels deep`)
  return copy
}

/** Bytes have a `toJSON` of their own, so the original value is checked. */
function toPlain(this: unknown, key: string, value: unknown): unknown {
  const raw = (this as Record<string, unknown>)[key]
  if (raw instanceof Uint8Array) return Buffer.from(raw).toString('base64')
  if (raw instanceof ArrayBuffer) return Buffer.from(raw).toString('base64')
  return typeof value === 'bigint' ? String(value) : value
}
