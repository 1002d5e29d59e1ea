/** Assembles a streamed reply in the order in which its parts began. Skips provider-executed parts and unknown types. */
import type { Ids } from '../base/index.ts'
import {
  type AssistantPart,
  boundedReplacer,
  defined,
  isDeeperThan,
  isObject,
  type Json,
  type JsonObject,
  type TextPart,
  type ToolCallPart,
} from '../protocol/index.ts'
import type { ModelStreamPart } from './language-model.ts'
import { type Piece, ThinkTags } from './think-tags.ts'

export type ModelDelta =
  | { readonly type: 'text.delta' | 'reasoning.delta'; readonly text: string }
  | { readonly type: 'call.delta'; readonly callId: string; readonly tool: string; readonly text: string }

interface Block {
  readonly type: 'text' | 'reasoning'
  text: string
  provider: JsonObject | undefined
  /** Of a text whose start may still be a tag, or which is inside of one. */
  tags: ThinkTags | undefined
  /** The reasoning inside the tags of a text. */
  thoughts: Block | undefined
}

/** The arguments of a call that streams. */
interface Input {
  readonly callId: string
  readonly tool: string
}

export class Assembly {
  /** The number of characters received, for an estimate if the stream breaks off. */
  chars = 0
  readonly #parts: (Block | ToolCallPart)[] = []
  readonly #ids: Ids
  readonly #onDelta: (delta: ModelDelta) => void
  readonly #readsTags: boolean
  /** Blocks that have begun and not ended, by the ids of the provider. */
  readonly #open = { text: new Map<string, Block>(), reasoning: new Map<string, Block>() }
  readonly #inputs = new Map<string, Input[]>()

  /** `readsTags`: a text that begins with `<think>` is reasoning up to `</think>`. */
  constructor(ids: Ids, onDelta: (delta: ModelDelta) => void, readsTags = true) {
    this.#ids = ids
    this.#onDelta = onDelta
    this.#readsTags = readsTags
  }

  add(part: ModelStreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        this.#block('text', part)
        break
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        this.#block('reasoning', part)
        break
      case 'tool-input-start':
        if (!part.providerExecuted) this.#beginInput(part)
        break
      case 'tool-input-delta':
        this.#inputDelta(part)
        break
      case 'tool-call':
        if (!part.providerExecuted) this.#call(part)
        break
      default:
    }
  }

  /** The whole reply. */
  content(): AssistantPart[] {
    const content: AssistantPart[] = []
    for (const part of [...this.#parts]) if (part.type === 'text') this.#endTags(part)
    for (const part of this.#parts) {
      if (part.type === 'tool-call') content.push(part)
      else if (part.text !== '' || (part.type === 'reasoning' && part.provider)) content.push(closed(part))
    }
    return content
  }

  /** The part of an incomplete reply to keep: its text, without calls. */
  partial(): TextPart[] {
    const content: TextPart[] = []
    for (const part of this.#parts) {
      if (part.type !== 'text') continue
      const held = part.tags?.end().find(({ type }) => type === 'text')?.text ?? ''
      if (part.text + held !== '') content.push({ type: 'text', text: part.text + held })
    }
    return content
  }

  #block(type: Block['type'], part: ModelStreamPart): void {
    const { id = '' } = part
    const open = part.type.endsWith('-start') ? undefined : this.#open[type].get(id)
    const block = open ?? this.#begin(type, id)
    if (part.providerMetadata !== undefined)
      block.provider = jsonOnly(part.providerMetadata) ?? block.provider
    const { delta } = part
    if (typeof delta === 'string' && delta !== '') {
      this.chars += delta.length
      if (block.tags === undefined) this.#append(block, delta)
      else this.#appendPieces(block, block.tags.add(delta))
    }
    if (!part.type.endsWith('-end')) return
    this.#endTags(block)
    this.#open[type].delete(id)
  }

  #append(block: Block, text: string): void {
    block.text += text
    this.#onDelta({ type: block.type === 'text' ? 'text.delta' : 'reasoning.delta', text })
  }

  #appendPieces(block: Block, pieces: readonly Piece[]): void {
    for (const { type, text } of pieces)
      this.#append(type === 'text' ? block : this.#reasoningOf(block), text)
    if (block.tags?.isText) block.tags = undefined
  }

  #endTags(block: Block): void {
    if (block.tags !== undefined) this.#appendPieces(block, block.tags.end())
  }

  /** The reasoning inside the tags of a text stands before it. */
  #reasoningOf(text: Block): Block {
    if (text.thoughts === undefined) {
      text.thoughts = newBlock('reasoning')
      this.#parts.splice(this.#parts.indexOf(text), 0, text.thoughts)
    }
    return text.thoughts
  }

  #begin(type: Block['type'], id: string): Block {
    const block = newBlock(type, this.#readsTags && type === 'text' ? new ThinkTags() : undefined)
    this.#parts.push(block)
    this.#open[type].set(id, block)
    return block
  }

  #beginInput({ id = '', toolName }: ModelStreamPart): void {
    const input = { callId: this.#ids.next('call'), tool: nameOf(toolName) }
    this.#inputs.set(id, [...(this.#inputs.get(id) ?? []), input])
  }

  #inputDelta({ id = '', delta }: ModelStreamPart): void {
    const input = this.#inputs.get(id)?.at(-1)
    if (input === undefined || typeof delta !== 'string' || delta === '') return
    this.chars += delta.length
    const { callId, tool } = input
    this.#onDelta({ type: 'call.delta', callId, tool, text: delta })
  }

  #call(part: ModelStreamPart): void {
    const raw: unknown = part.input
    // A second call under one provider's id is a call of its own.
    const input = this.#inputs.get(part.toolCallId ?? '')?.pop()
    if (input === undefined) this.chars += part.input?.length ?? 0
    const provider = part.providerMetadata && jsonOnly(part.providerMetadata)
    this.#parts.push({
      type: 'tool-call',
      callId: input?.callId ?? this.#ids.next('call'),
      ...(part.toolCallId ? { providerId: part.toolCallId } : {}),
      ...named(part.toolName, argumentsOf(raw)),
      ...defined({ provider }),
    })
  }
}

function newBlock(type: Block['type'], tags?: ThinkTags): Block {
  return { type, text: '', provider: undefined, tags, thoughts: undefined }
}

function closed({ type, text, provider }: Block): AssistantPart {
  return provider === undefined ? { type, text } : { type, text, provider }
}

type Arguments = Pick<ToolCallPart, 'args' | 'malformed'>

const LONGEST_NAME = 128
/** Bounds the work of later readers. */
const DEEPEST = 100

function named(tool: unknown, parsed: Arguments): Pick<ToolCallPart, 'tool' | 'args' | 'malformed'> {
  const name = nameOf(tool)
  if (name === tool) return { tool, ...parsed }
  const malformed =
    name === UNNAMED
      ? 'the call does not say which tool'
      : `the name of the tool is no text of at most ${LONGEST_NAME} characters`
  return { tool: name, args: parsed.args, malformed }
}

const UNNAMED = 'unnamed'

function nameOf(tool: unknown): string {
  return (typeof tool === 'string' && tool.slice(0, LONGEST_NAME).toWellFormed()) || UNNAMED
}

/** A call without arguments has empty ones. */
function argumentsOf(raw: unknown): Arguments {
  if (raw === undefined || raw === '') return { args: {} }
  if (typeof raw !== 'string') {
    if (!isObject(raw)) return { args: '', malformed: 'the arguments are not JSON text' }
    return isDeeperThan(DEEPEST, raw) ? { args: '', malformed: TOO_DEEP } : { args: raw as JsonObject }
  }
  try {
    const args = JSON.parse(raw) as Json
    // Every level takes at least two characters.
    if (raw.length > 2 * DEEPEST && isDeeperThan(DEEPEST, args)) return { args: raw, malformed: TOO_DEEP }
    if (isObject(args)) return { args }
    return { args: raw, malformed: `the arguments are ${kindOf(args)}, not a JSON object` }
  } catch (error) {
    if (raw.trim() === '') return { args: {} }
    return { args: raw, malformed: `the arguments are not JSON: ${(error as Error).message}` }
  }
}

const TOO_DEEP = `the arguments are nested more than ${DEEPEST} levels deep`

function kindOf(value: Json): string {
  return value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`
}

/** Providers promise JSON here, and some attach other values. */
function jsonOnly(value: JsonObject): JsonObject | undefined {
  try {
    const clean = JSON.parse(JSON.stringify(value, boundedReplacer())) as JsonObject
    return Object.keys(clean).length === 0 ? undefined : clean
  } catch {
    return undefined
  }
}
