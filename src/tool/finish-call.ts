/**
 * Converts a tool's return or throw into a result to store and show: JSON, bounded, valid, redacted. Knows nothing of
 * timing or callers.
 */
import { debugThrown, type MaybePromise } from '../base/index.ts'
import {
  defined,
  type Json,
  type JsonObject,
  MAX_OUTPUT_BYTES,
  quote,
  type RequestData,
  type Sighting,
  type Usage,
} from '../protocol/index.ts'
import { cutOutput } from './cut-output.ts'
import { schemaProblem } from './json-schema.ts'
import { NO_SECRETS, type Redactor } from './redact.ts'
import {
  type AskRequest,
  askedBy,
  DEFAULT_NAME,
  FROM_BELOW,
  isToolResult,
  type ToolResult,
  usageBelow,
} from './result.ts'
import { isStandardSchema, issueLines, jsonSchemaOf, validate } from './standard-schema.ts'
import { thrown } from './thrown.ts'
import { JsonProblem, jsonBytes, toJson } from './to-json.ts'
import type { Settled, Tool } from './tool.ts'
import { type CallErrorCode, callError, UnknownOutcome, withoutResult } from './tool-errors.ts'

/** The end of a run: a result, or questions to answer before it runs again. */
export type CallEnd = ({ readonly kind: 'settled' } & Settled) | ({ readonly kind: 'asks' } & Questions)

export interface Questions {
  readonly requests: readonly AskedRequest[]
  /** The total usage of a sub-agent before it asked. */
  readonly usage?: Usage
}

/** A question as the tool asked it; the loop adds its id, its call and its expiry. */
export type AskedRequest = Omit<RequestData, 'requestId' | 'callId' | 'expiresAt' | 'name' | 'from'> & {
  readonly name: string
  readonly from: string
  readonly expiresInMs?: number
}

interface FinishContext {
  readonly tool: Tool
  readonly secrets?: Redactor
}

/** Converts a returned value into a result or questions. Never fails. */
export function finishReturn(context: FinishContext, returned: unknown): MaybePromise<Settled | Questions> {
  const requests = askedBy(returned)
  if (requests === undefined) return result(context, returned)
  return questionsOf(context, requests).then((questions) => ({ ...questions, ...usageBelow(returned) }))
}

/** Converts a thrown value into a result. */
export function finishThrow(
  { tool, secrets = NO_SECRETS }: FinishContext,
  error: unknown,
  signal: AbortSignal,
): Settled {
  const subject = subjectOf(tool)
  const problem = thrown(error, secrets, subject)
  if (UnknownOutcome.is(error)) return withoutResult(tool.replay, problem.error, error.code)
  if (!signal.aborted) return { status: 'error', output: { ...problem } }
  const isLate = signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError'
  const code: CallErrorCode = isLate ? 'timeout' : 'cancelled'
  const text = isLate ? `${subject} was stopped when its time was up` : 'The call was cancelled'
  return callError({ status: 'error', code, error: `${text}: ${problem.error}` })
}

function result(context: FinishContext, returned: unknown): MaybePromise<Settled> {
  const wrapped: Partial<ToolResult<unknown>> = isToolResult(returned) ? returned : { data: returned }
  const { tool } = context
  return tool.output === undefined
    ? settledBy(context, wrapped, { value: wrapped.data })
    : validOutput(context, tool.output, wrapped.data).then((valid) => settledBy(context, wrapped, valid))
}

type Valid = { readonly value: unknown } | { readonly issues: readonly string[] }

function settledBy(
  { tool, secrets = NO_SECRETS }: FinishContext,
  wrapped: Partial<ToolResult<unknown>>,
  valid: Valid,
): Settled {
  if (!('value' in valid))
    return unusable(tool, 'invalid-output', secrets.text(`it does not fit: ${valid.issues.join('; ')}`))
  // Every value takes at least one byte.
  const bounds = { values: Math.max(tool.maxResultBytes, FEWEST_VALUES), isExact: tool['~kind'] === 'step' }
  const json = toJson(valid.value, bounds)
  if (json instanceof JsonProblem && json.kind === 'question') return questionInside(tool, json, secrets)
  if (json instanceof JsonProblem)
    return unusable(
      tool,
      json.kind === 'too-much' ? 'too-large' : 'not-json',
      secrets.cut(`it cannot be written as JSON: ${json.message}`, LONGEST_WHY),
    )
  const output = secrets.json(json)
  const bytes = jsonBytes(output)
  if (bytes > tool.maxResultBytes) return tooLarge(output, bytes, tool.maxResultBytes)
  const display = displayOf(tool, { display: wrapped.display, value: valid.value })
  const status = wrapped.failed ? 'error' : 'ok'
  const isCut = bytes > MAX_OUTPUT_BYTES
  return {
    status,
    output: isCut ? cutOutput({ status, output, bytes, limit: MAX_OUTPUT_BYTES }) : output,
    ...(isCut ? { cut: true } : {}),
    ...(display === undefined ? {} : { display: secrets.cut(display, tool.maxResultBytes) }),
    ...defined({ usage: wrapped.usage, seen: wrapped.seen?.map((one) => redactSighting(one, secrets)) }),
  }
}

/** The name of an entity is the program's. */
function redactSighting(sighting: Sighting, secrets: Redactor): Sighting {
  return secrets.isEmpty ? sighting : { ...secrets.json({ ...sighting }), entity: sighting.entity }
}

async function validOutput(
  { tool, secrets }: FinishContext,
  output: NonNullable<Tool['output']>,
  value: unknown,
): Promise<Valid> {
  // A schema visits every reference, so shared values could unfold without end.
  const json = toJson(value)
  if (json instanceof JsonProblem && json.kind === 'too-much') return { issues: [json.message] }
  // The schema may leave the question out, and it would be lost.
  if (json instanceof JsonProblem && json.kind === 'question') return { value }
  try {
    const checked = await validate(output, value, `The \`output\` schema of tool ${quote(tool.name)}`)
    return checked.issues === undefined ? checked : { issues: issueLines(checked.issues) }
  } catch (error) {
    return { issues: [`it cannot be checked: ${thrown(error, secrets).error.replace(/\.$/, '')}`] }
  }
}

/** A failing `display` must not turn a success into an error. */
function displayOf(
  tool: Tool,
  { display, value }: { readonly display: unknown; readonly value: unknown },
): string | undefined {
  try {
    const text: unknown = display ?? tool.display?.(value)
    return typeof text === 'string' ? text : undefined
  } catch (error) {
    debugThrown(`The function display of the tool ${tool.name}`, error)
    return undefined
  }
}

/** Names nodes and steps of graphs, which run under the rules of tools, as such. */
function subjectOf(tool: Tool): string {
  return `The ${tool['~kind'] ?? 'tool'}`
}

const SHOWN = 2000
const LONGEST_WHY = 4000
const FEWEST_VALUES = 10_000

function tooLarge(output: Json, bytes: number, limit: number): Settled {
  return callError({
    status: 'error',
    code: 'too-large',
    error: `The tool ran to its end, but its result has ${bytes} bytes and at most ${limit} are allowed. Ask for less: filter, or take it in parts.`,
    more: { bytes, limit, beginning: JSON.stringify(output).slice(0, SHOWN).toWellFormed() },
  })
}

function unusable(tool: Tool, code: CallErrorCode, why: string): Settled {
  const isStep = tool['~kind'] === 'step'
  return callError({
    status: 'error',
    code,
    error: `${isStep ? `Step ${tool.name}` : subjectOf(tool)} ran to its end, but its result cannot be used: ${why}.${isStep ? ' It is not done again.' : ''}`,
  })
}

function questionInside(tool: Tool, { message }: JsonProblem, secrets: Redactor): Settled {
  const why = `in its result, ${message}, and only a question that is returned by itself is asked: return ask({ … }), or ask([ … ]) for several`
  return badQuestion(tool, why, secrets)
}

async function questionsOf(
  { tool, secrets = NO_SECRETS }: FinishContext,
  requests: readonly AskRequest[],
): Promise<Settled | Questions> {
  const written: AskedRequest[] = []
  for (const request of requests) {
    const question = await storedRequest(tool, request)
    if (typeof question === 'string') return badQuestion(tool, question, secrets)
    // A redacted name would not match its answer.
    if (secrets.isIn(question.name)) return badQuestion(tool, 'its name contains a credential', secrets)
    written.push(secrets.json(question))
  }
  const most = Math.min(tool.maxResultBytes, MAX_OUTPUT_BYTES)
  // Previews from below are of use, and no reason to fail the call.
  if (jsonBytes(written) > most) for (const [at, one] of written.entries()) written[at] = withoutPreview(one)
  const bytes = jsonBytes(written)
  if (bytes > most) return badQuestion(tool, `it has ${bytes} bytes and at most ${most} are allowed`, secrets)
  return { requests: written }
}

/** The request in its stored form, or its problem. */
async function storedRequest(tool: Tool, request: AskRequest): Promise<AskedRequest | string> {
  const { name = DEFAULT_NAME, multiple, schema, kind, prompt, options, about, expiresInMs } = request
  const jsonSchema = questionSchema(schema)
  if (typeof jsonSchema === 'string') return jsonSchema
  const json = toJson({
    kind,
    prompt,
    name,
    from: askerOf(tool),
    schema: jsonSchema,
    options,
    multiple: multiple ? true : undefined,
    expiresInMs,
    about: FROM_BELOW in request ? about : withoutOffers(about),
  })
  if (json instanceof JsonProblem) return json.message
  const problem = jsonSchema && (await schemaProblem(jsonSchema))
  return problem === undefined ? (json as AskedRequest) : `its schema cannot be used: ${problem}`
}

/** The names under which the runtime itself asks. */
const RUNTIME_ASKERS: ReadonlySet<string> = new Set(['approval', 'credentials', 'grounding'])

/** The asker of a question. No name of a tool contains a colon, so none is taken for the runtime. */
function askerOf({ name, '~kind': kind }: Tool): string {
  return RUNTIME_ASKERS.has(name) ? `${kind ?? 'tool'}:${name}` : name
}

function withoutPreview(question: AskedRequest): AskedRequest {
  if (question.about?.['preview'] === undefined) return question
  const preview = { error: 'The previews are too long to be shown here.' }
  return { ...question, about: { ...question.about, preview } }
}

/** Only the runtime offers grants: a tool could have others granted than the person reads. */
function withoutOffers(about: JsonObject | undefined): JsonObject | undefined {
  if (about?.['grants'] === undefined) return about
  const { grants: _, ...rest } = about
  return rest
}

function questionSchema(schema: AskRequest['schema']): JsonObject | string | undefined {
  if (!isStandardSchema(schema)) return schema
  try {
    return jsonSchemaOf(schema, 'Give JSON Schema as `schema` instead')
  } catch (error) {
    return thrown(error).error
  }
}

function badQuestion(tool: Tool, why: string, secrets: Redactor): Settled {
  const error = `${subjectOf(tool)} wanted to ask something, but the question cannot be used: ${why}.`
  return callError({ status: 'error', code: 'invalid-question', error: secrets.cut(error, LONGEST_WHY) })
}
