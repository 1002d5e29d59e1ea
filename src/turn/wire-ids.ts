/**
 * Replaces ids on the wire: short codes in prompts, and neither ids nor codes in the model's texts. The journal has ids
 * and never codes, so a prompt and its reply share one table, made for this one call.
 */
import type { MaybePromise } from '../base/index.ts'
import {
  activeIds,
  activeLabels,
  type Handles,
  handleTable,
  type OutputFilter,
  outputFilter,
  withoutMarks,
  withTextIds,
} from '../grounding/index.ts'
import { dataOf } from '../loop/index.ts'
import { type ModelDelta, ModelFailure, type ModelReply } from '../model/index.ts'
import {
  type ActiveValue,
  type AssistantPart,
  type Entry,
  isObject,
  type Json,
  type JsonObject,
  type Message,
  type Sighting,
  type ToolResultPart,
} from '../protocol/index.ts'
import type { Tool } from '../tool/index.ts'
import { entriesSoFar } from './context-fill.ts'
import type { TurnRun } from './turn-run.ts'

/** The wire of one model call. A model that reads ids as data needs no codes. */
export function wireIds(
  run: TurnRun,
  { readsData, givesData }: { readonly readsData: boolean; readonly givesData: boolean },
): MaybePromise<WireIds> {
  const { handles, hidden } = run.scope.definition.grounding
  const isCoded = handles && !readsData
  return isCoded || hidden.size > 0 ? wireFor(run, { isCoded, givesData }) : UNCHANGED
}

async function wireFor(
  run: TurnRun,
  { isCoded, givesData }: { readonly isCoded: boolean; readonly givesData: boolean },
): Promise<WireIds> {
  const { entities, hidden } = run.scope.definition.grounding
  const things = knownThings(await entriesSoFar(run), run.session.active ?? [])
  const coded = isCoded ? things.filter(isUnambiguous(things)) : []
  const handles = isCoded ? handleTable(entities, coded) : undefined
  const codes = coded.map(({ id, ...thing }) => ({ ...thing, id: handles?.encode(thing.entity, id) ?? id }))
  const ids = things.filter(({ entity }) => hidden.has(entity))
  const filter = outputFilter([...named(ids), ...codes])
  const tools = await run.tools()
  return new WireIds({ tools, filter, givesData, ...(handles === undefined ? {} : { handles }) })
}

interface Wiring {
  readonly tools: readonly Tool[]
  readonly filter?: OutputFilter
  readonly handles?: Handles
  /** A reply without calls is structured output. */
  readonly givesData?: boolean
}

export class WireIds {
  readonly #parameters: ReadonlyMap<string, JsonObject>
  readonly #filter: OutputFilter | undefined
  readonly #handles: Handles | undefined
  readonly #givesData: boolean

  constructor({ tools, filter, handles, givesData = false }: Wiring) {
    this.#parameters = new Map(tools.map(({ name, parameters }) => [name, parameters]))
    this.#filter = filter
    this.#handles = handles
    this.#givesData = givesData
  }

  /** The code of an id, for the blocks at the end of a prompt. */
  get blocks(): { readonly handle?: Handles['encode'] } {
    return this.#handles === undefined ? {} : { handle: this.#handles.encode }
  }

  /** Encodes ids in replies and results. User messages stay as they are. */
  messages(messages: readonly Message[]): readonly Message[] {
    const handles = this.#handles
    if (handles === undefined) return messages
    return messages.map((message): Message => {
      if (message.role === 'user') return message
      if (message.role === 'tool')
        return { ...message, content: message.content.map((part) => encodedResult(part, handles)) }
      return { ...message, content: this.#withArgs(message.content, handles.encodeArgs) }
    })
  }

  /** A schema without marks: some vendors refuse unknown keywords. */
  parameters(schema: JsonObject): JsonObject {
    const known = this.#handles === undefined ? PLAIN : CODED
    let plain = known.get(schema)
    if (plain === undefined) {
      plain = withoutMarks(this.#handles === undefined ? schema : withTextIds(schema))
      known.set(schema, plain)
    }
    return plain
  }

  /** Filters the deltas of a reply. `end` emits the buffered rest. */
  deltas(emit: (delta: ModelDelta) => void): {
    readonly push: (delta: ModelDelta) => void
    readonly end: () => void
  } {
    const filter = this.#filter
    if (filter === undefined) return { push: emit, end: () => {} }
    let stream = filter.stream()
    const emitText = (text: string): void => {
      if (text !== '') emit({ type: 'text.delta', text })
    }
    const end = (): void => {
      emitText(stream.end())
      stream = filter.stream()
    }
    const push = (delta: ModelDelta): void => {
      if (delta.type === 'text.delta') emitText(stream.push(delta.text))
      else {
        end()
        emit(delta)
      }
    }
    return { push, end }
  }

  /** The reply as it is stored. Thoughts stay unchanged: providers sign them. */
  reply(reply: ModelReply): ModelReply {
    const handles = this.#handles
    const content = this.#withoutIds(this.#withIds(reply.content))
    return {
      ...reply,
      content:
        handles === undefined
          ? content
          : this.#withArgs(content, handles.decodeArgs).map((part) =>
              part.type === 'tool-call' ? { ...part, args: handles.decodeTexts(part.args) } : part,
            ),
    }
  }

  failure(failure: ModelFailure): ModelFailure {
    if (this.#filter === undefined || failure.partial.length === 0) return failure
    const { kind, message, retryable, retryAfterMs, status, usage, partial, cause } = failure
    return new ModelFailure(kind, {
      message,
      retryable,
      usage,
      partial: this.#withoutIds(partial),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(status === undefined ? {} : { status }),
      ...(cause === undefined ? {} : { cause }),
    })
  }

  /** Data has ids in place of codes: a label would be another value. */
  #withIds(content: readonly AssistantPart[]): readonly AssistantPart[] {
    const handles = this.#handles
    const isData = this.#givesData && content.every(({ type }) => type !== 'tool-call')
    if (handles === undefined || !isData) return content
    return content.map((part) =>
      part.type === 'text' ? { ...part, text: handles.decodeTexts(part.text) as string } : part,
    )
  }

  #withoutIds(content: readonly AssistantPart[]): readonly AssistantPart[] {
    const filter = this.#filter
    if (filter === undefined) return content
    return content
      .map((part) => (part.type === 'text' ? { ...part, text: filter.text(part.text) } : part))
      .filter((part) => part.type !== 'text' || part.text !== '')
  }

  #withArgs(
    content: readonly AssistantPart[],
    change: (parameters: JsonObject, args: Json) => Json,
  ): readonly AssistantPart[] {
    return content.map((part) => {
      if (part.type !== 'tool-call' || part.malformed !== undefined) return part
      const parameters = this.#parameters.get(part.tool)
      return parameters === undefined ? part : { ...part, args: change(parameters, part.args) }
    })
  }
}

const UNCHANGED: WireIds = new WireIds({ tools: [] })
const PLAIN = new WeakMap<JsonObject, JsonObject>()
const CODED = new WeakMap<JsonObject, JsonObject>()

/** Sightings and choices in the order of their first appearance, each with its last label. */
function knownThings(entries: readonly Entry[], active: readonly ActiveValue[]): readonly Sighting[] {
  const things = new Map<string, Sighting>()
  const add = (seen: readonly Sighting[]): void => {
    for (const { entity, id, label } of seen) {
      const key = `${entity}\n${id}`
      things.set(key, { ...things.get(key), entity, id, ...(label === undefined ? {} : { label }) })
    }
  }
  for (const entry of entries) {
    if (entry.type === 'tool.end') add(dataOf(entry, 'tool.end').seen ?? [])
    if (entry.type === 'active') add(chosenThings(dataOf(entry, 'active').values))
  }
  add(chosenThings(active))
  return [...things.values()]
}

function chosenThings(values: readonly ActiveValue[]): readonly Sighting[] {
  return values.flatMap((value) => {
    const labels = activeLabels(value)
    return activeIds(value).map((id) => {
      const label = labels.get(id)
      return { entity: value.entity, id, ...(label === undefined ? {} : { label }) }
    })
  })
}

/** False for an id of two kinds, or that equals a label: its code would be ambiguous. */
function isUnambiguous(things: readonly Sighting[]): (thing: Sighting) => boolean {
  const counts = new Map<string, number>()
  for (const { id } of things) counts.set(id, (counts.get(id) ?? 0) + 1)
  const labels = new Set(things.map(({ label }) => label))
  return ({ id }) => counts.get(id) === 1 && !labels.has(id)
}

/** An id of two kinds is removed without naming either. */
function named(things: readonly Sighting[]): readonly Sighting[] {
  const kinds = Map.groupBy(things, ({ id }) => id)
  return [...kinds].map(([id, [first, ...others]]) =>
    first !== undefined && others.length === 0 ? first : { entity: 'id', id },
  )
}

function encodedResult(part: ToolResultPart, handles: Handles): ToolResultPart {
  const output = handles.encodeOutput(part.output)
  return { ...part, output: isRefusal(part) ? inWords(output, part.output) : output }
}

function isRefusal({ status, output }: ToolResultPart): boolean {
  return status === 'rejected' && isObject(output) && output['error'] === 'ungrounded'
}

/** Encodes ids in the text of a refusal, too, by the ids in its data. */
function inWords(coded: Json, plain: Json): Json {
  if (!isObject(coded) || !isObject(plain)) return coded
  const [before, after] = [textsIn(plain), textsIn(coded)]
  const { message } = plain
  if (typeof message !== 'string') return coded
  const changed = before.reduce((text, id, at) => {
    const code = after[at] ?? id
    return code === id ? text : text.replace(asWord(id), () => code)
  }, message)
  return { ...coded, message: changed }
}

function asWord(id: string): RegExp {
  const literal = id.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  return new RegExp(`(?<![\\p{L}\\p{N}_-])${literal}(?![\\p{L}\\p{N}_-])`, 'gu')
}

function textsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null
    ? Object.values(value).flatMap((each) => textsIn(each as Json))
    : []
}
