/**
 * The two special things that a tool may return: a result with a text for people, and a question. They are marked by
 * symbols, which no data from outside can carry. How a question travels is not known here.
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
import { isStandardSchema, type StandardSchema } from './standard-schema.ts'

const RESULT: unique symbol = Symbol.for('holdfast.tool-result')
const ASK: unique symbol = Symbol.for('holdfast.ask')
const USED: unique symbol = Symbol.for('holdfast.ask.usage')

/** A result that says one thing to the model and another to people. Made by `toolResult`. */
export interface ToolResult<out T> {
  readonly [RESULT]: true
  readonly data: T
  readonly display: string
  readonly usage?: Usage
  readonly seen?: readonly Sighting[]
  /** It is the account of a failure. */
  readonly failed?: true
}

/** A question instead of a result. Made by `ask`. */
export interface Ask {
  readonly [ASK]: readonly AskRequest[]
  /** What a sub-agent has used in all before it asked. */
  readonly [USED]?: Usage
}

export type AskKind = 'confirmation' | 'choice' | 'data' | 'text' | 'auth'

export interface AskRequest {
  /**
   * What kind of answer: `confirmation` is yes or no, `choice` one of `options`, `data` whatever fits `schema`, `text`
   * a text, `auth` anything that grants access.
   */
  readonly kind: AskKind
  readonly prompt: string
  /** Where the answer is found in `context.answers`; `answer` unless said otherwise. */
  readonly name?: string
  readonly options?: readonly Json[]
  /** Several of the options may be chosen. */
  readonly multiple?: boolean
  /** A schema of any library that can tell it as JSON Schema, or JSON Schema itself. */
  readonly schema?: StandardSchema | JsonObject
  /** How long it may take to be answered, at most 100 years; `requestTtlMs` of the agent unless said otherwise. */
  readonly expiresInMs?: number
  /** What the question is about, for whoever shows it. */
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
 * `data` goes to the model, `display` to people. `usage` is what a sub-agent used on the way, `seen` what its tools showed;
 * `failed` makes it an error that has more to say than something thrown.
 */
export function toolResult<T>(data: T, display: string, options: ToolResultOptions = {}): ToolResult<T> {
  checkOptions(options, TOOL_RESULT)
  const { usage, seen, failed } = options
  return {
    [RESULT]: true,
    data,
    display,
    ...defined({ usage, seen, failed }),
  }
}

/**
 * Return this from `run` to ask somebody. The turn ends to wait; after the answer the tool is run again from its
 * start, with the answer in `context.answers`. So ask before the effect, not after it.
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

/** The questions of a sub-agent, and what it has used in all. */
export function askBelow(requests: readonly AskRequest[], usage: Usage): Ask {
  return { ...ask(requests), [USED]: usage }
}

export function usedBefore(value: unknown): { readonly usage?: Usage } {
  const usage = (value as Ask)[USED]
  return usage === undefined ? {} : { usage }
}

/** When it expires is stored as a date, and dates end somewhere. */
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

/** Options that some kinds of questions have alone. */
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
  if (schema !== undefined && !isStandardSchema(schema) && (typeof schema !== 'object' || schema === null)) {
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
