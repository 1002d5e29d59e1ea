/**
 * The two special return values of a tool: a result with a text for people, and a question. Marked by symbols, which no
 * external data can carry. Knows nothing of delivery.
 */
import {
  checkOptions,
  defined,
  HoldfastError,
  type Json,
  type JsonObject,
  type OptionSet,
  quote,
  type Sighting,
  type Usage,
} from '../protocol/index.ts'
import { ASK, RESULT, USED } from './result-marks.ts'
import { isJsonSchema, isStandardSchema, type StandardSchema } from './standard-schema.ts'

/** Marks a question that the runtime passes on from a conversation below. No tool has the symbol. */
export const FROM_BELOW: unique symbol = Symbol('holdfast.ask.below')

/** A result with one form for the model and another for people. Created by `toolResult`. */
export interface ToolResult<out T> {
  readonly [RESULT]: true
  readonly data: T
  readonly display: string
  readonly usage?: Usage
  readonly seen?: readonly Sighting[]
  /** Reports a failure. */
  readonly failed?: true
}

/** A question instead of a result. Created by `ask`. */
export interface Ask {
  readonly [ASK]: readonly AskRequest[]
  /** The total usage of a sub-agent before it asked. */
  readonly [USED]?: Usage
}

export type AskKind = 'confirmation' | 'choice' | 'data' | 'text' | 'auth'

export interface AskRequest {
  /**
   * The kind of answer: `confirmation` is yes or no, `choice` one of `options`, `data` a value that fits `schema`, `text` a
   * text, `auth` anything that grants access.
   */
  readonly kind: AskKind
  readonly prompt: string
  /** The answer's name in `context.answers`. Default: `answer`. */
  readonly name?: string
  readonly options?: readonly Json[]
  /** Several options may be chosen. */
  readonly multiple?: boolean
  /** JSON Schema, or a schema of any library that can convert to it. */
  readonly schema?: StandardSchema | JsonObject
  /** How long the request stays open, at most 100 years. Default: the agent's `requestTtlMs`. */
  readonly expiresInMs?: number
  /** The subject of the question, for its display. */
  readonly about?: JsonObject
}

export interface ToolResultOptions {
  readonly usage?: Usage
  readonly seen?: readonly Sighting[]
  readonly failed?: true
}

const TOOL_RESULT: OptionSet<ToolResultOptions> = {
  place: 'toolResult()',
  options: { usage: 'an object', seen: 'a list', failed: 'true or false' },
  foreign: { error: 'failed: true', isError: 'failed: true' },
}

/**
 * `data` goes to the model, `display` to people. `usage` is the usage of a sub-agent, `seen` its sightings; `failed` makes
 * the result an error with data.
 */
export function toolResult<T>(data: T, display: string, options: ToolResultOptions = {}): ToolResult<T> {
  checkOptions(options, TOOL_RESULT)
  const { usage, seen, failed } = options
  if (usage !== undefined && !isUsage(usage))
    throw invalidResult('`usage` must have the numbers inputTokens, outputTokens, cachedTokens and costUsd')
  if (seen?.some((one) => !isSighting(one)))
    throw invalidResult('each of `seen` must be { entity, id }, both texts, as are label, detail and parent')
  return {
    [RESULT]: true,
    data,
    display,
    ...defined({ usage, seen, failed }),
  }
}

function isUsage(usage: Partial<Usage>): boolean {
  const counts = [usage.inputTokens, usage.outputTokens, usage.cachedTokens, usage.costUsd]
  return counts.every((count) => typeof count === 'number' && Number.isFinite(count) && count >= 0)
}

/** False for values of programs without types. */
function isSighting(one: Partial<Sighting> | null | undefined): boolean {
  if (typeof one?.entity !== 'string' || typeof one.id !== 'string') return false
  return [one.label, one.detail, one.parent].every((text) => ['string', 'undefined'].includes(typeof text))
}

function invalidResult(why: string): HoldfastError {
  return new HoldfastError('invalid-option', { message: `toolResult(): ${why}.` })
}

/**
 * Return this from `run` to ask a person. The turn ends to wait; after the answer the tool runs again from its start, with
 * the answer in `context.answers`. So ask before the effect, not after it.
 */
export function ask(request: AskRequest | readonly AskRequest[]): Ask {
  const requests: readonly AskRequest[] = Array.isArray(request)
    ? (request as readonly AskRequest[])
    : [request as AskRequest]
  if (requests.length === 0) throw invalid('no question was given', 'Give at least one')
  if (requests.some((each) => typeof each !== 'object' || each === null))
    throw invalid('it is no object', 'Give { kind, prompt }, or a list of these')
  const names = requests.map(({ name = DEFAULT_NAME }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) {
    throw invalid(`two questions are called ${quote(twice)}`, 'Give each a `name` of its own')
  }
  for (const each of requests) checkRequest(each)
  return { [ASK]: requests }
}

export const DEFAULT_NAME = 'answer'

export function isToolResult(value: unknown): value is ToolResult<unknown> {
  return typeof value === 'object' && value !== null && RESULT in value
}

export function askedBy(value: unknown): readonly AskRequest[] | undefined {
  return typeof value === 'object' && value !== null && ASK in value ? (value as Ask)[ASK] : undefined
}

/** The questions of a sub-agent, with its total usage. */
export function askBelow(requests: readonly AskRequest[], usage: Usage): Ask {
  return { ...ask(requests), [USED]: usage }
}

export function usageBelow(value: unknown): { readonly usage?: Usage } {
  const usage = (value as Ask)[USED]
  return usage === undefined ? {} : { usage }
}

/** The expiry is stored as a date, and dates have a maximum. */
const LONGEST_MS = 36_500 * 24 * 60 * 60 * 1000

const KINDS: readonly string[] = ['confirmation', 'choice', 'data', 'text', 'auth'] satisfies AskKind[]

const QUESTION: OptionSet<AskRequest> = {
  place: 'A question',
  options: {
    kind: null,
    prompt: null,
    name: null,
    options: null,
    multiple: 'true or false',
    schema: null,
    expiresInMs: null,
    about: 'an object',
  },
  foreign: {
    question: 'prompt',
    message: 'prompt',
    type: 'kind',
    choices: 'options',
    timeoutMs: 'expiresInMs',
  },
}

/** Options that belong to some kinds of questions only. */
const OWNED: readonly (readonly [name: keyof AskRequest, owners: readonly AskKind[], rest: string])[] = [
  ['options', ['choice'], 'belong to a choice'],
  ['multiple', ['choice'], 'belongs to a choice'],
  ['schema', ['data', 'auth'], 'belongs to data'],
]

function checkRequest(request: AskRequest): void {
  checkOptions(request, QUESTION)
  const { kind, prompt, options, schema, expiresInMs } = request
  if (!KINDS.includes(kind)) throw invalid(`${quote(kind)} is no kind`, `Use ${KINDS.join(', ')}`)
  if (typeof prompt !== 'string' || prompt.trim() === '')
    throw invalid('the prompt is empty', 'Write a question')
  if (kind === 'choice' && (!Array.isArray(options) || options.length === 0)) {
    throw invalid('a choice without options was asked for', 'Give `options`')
  }
  for (const [name, owners, rest] of OWNED)
    if (request[name] !== undefined && request[name] !== false && !owners.includes(kind))
      throw invalid(`\`${name}\` ${rest}, not to a question of kind ${kind}`, 'Leave it out')
  if (schema !== undefined && !isStandardSchema(schema) && !isJsonSchema(schema)) {
    throw invalid('the schema is no schema', 'Give a Standard Schema or JSON Schema')
  }
  if (expiresInMs !== undefined && !(expiresInMs > 0)) {
    throw invalid(`expiresInMs is ${String(expiresInMs)}`, 'Give milliseconds, more than 0')
  }
  if (expiresInMs !== undefined && !(typeof expiresInMs === 'number' && expiresInMs <= LONGEST_MS)) {
    throw invalid(`expiresInMs is ${String(expiresInMs)}`, 'Give milliseconds, at most 100 years of them')
  }
}

function invalid(what: string, todo: string): HoldfastError {
  return new HoldfastError('invalid-option', { message: `Invalid question: ${what}. ${todo}.` })
}
