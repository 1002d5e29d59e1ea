/**
 * What a tool returned or threw, made fit to be stored and shown: JSON, of bounded size, valid, without secrets. How long
 * the tool took and who waited is not known here.
 */
import { debugThrown, type MaybePromise } from '../base/index.ts'
import {
  defined,
  type Json,
  type JsonObject,
  MAX_OUTPUT_BYTES,
  type RequestData,
  type Usage,
} from '../protocol/index.ts'
import { cutOutput } from './cut-output.ts'
import { schemaProblem } from './json-schema.ts'
import { NO_SECRETS, type Redactor } from './redact.ts'
import {
  type AskRequest,
  askedBy,
  DEFAULT_NAME,
  isToolResult,
  type ToolResult,
  usedBefore,
} from './result.ts'
import { isStandardSchema, issueLines, jsonSchemaOf } from './standard-schema.ts'
import { thrown } from './thrown.ts'
import { JsonProblem, jsonBytes, toJson } from './to-json.ts'
import type { Settled, Tool } from './tool.ts'
import { type TroubleCode, troubled } from './tool-errors.ts'

/** How a run ended: with a result, or with questions whose answers it wants before it is run again. */
export type CallEnd = ({ readonly kind: 'settled' } & Settled) | ({ readonly kind: 'asks' } & Questions)

export interface Questions {
  readonly requests: readonly AskedRequest[]
  /** What a sub-agent has used in all before it asked. */
  readonly usage?: Usage
}

/** A question as a tool asked it; whoever stores it adds its id, its call and when it expires. */
export type AskedRequest = Omit<RequestData, 'requestId' | 'callId' | 'expiresAt' | 'name' | 'from'> & {
  readonly name: string
  readonly from: string
  readonly expiresInMs?: number
}

interface Finishing {
  readonly tool: Tool
  readonly secrets?: Redactor
}

/** What was returned, as a result or as questions. Never fails. */
export function finished(finishing: Finishing, returned: unknown): MaybePromise<Settled | Questions> {
  const requests = askedBy(returned)
  if (requests === undefined) return result(finishing, returned)
  return asked(finishing, requests).then((questions) => ({ ...questions, ...usedBefore(returned) }))
}

/** What was thrown, as the result. */
export function failed(
  { tool, secrets = NO_SECRETS }: Finishing,
  error: unknown,
  signal: AbortSignal,
): Settled {
  const who = subjectOf(tool)
  const what = thrown(error, secrets, who)
  if (!signal.aborted) return { status: 'error', output: { ...what } }
  const isLate = signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError'
  const code: TroubleCode = isLate ? 'timeout' : 'cancelled'
  const text = isLate ? `${who} was stopped when its time was up` : 'The call was cancelled'
  return troubled({ status: 'error', code, error: `${text}: ${what.error}` })
}

function result(finishing: Finishing, returned: unknown): MaybePromise<Settled> {
  const given: Partial<ToolResult<unknown>> = isToolResult(returned) ? returned : { data: returned }
  const { tool, secrets = NO_SECRETS } = finishing
  return tool.output === undefined
    ? settledBy(finishing, given, { value: given.data })
    : validOutput(tool.output, given.data, secrets).then((valid) => settledBy(finishing, given, valid))
}

type Valid = { readonly value: unknown } | { readonly issues: readonly string[] }

function settledBy(
  { tool, secrets = NO_SECRETS }: Finishing,
  given: Partial<ToolResult<unknown>>,
  valid: Valid,
): Settled {
  if (!('value' in valid))
    return unusable(tool, 'invalid-output', secrets.text(`it does not fit: ${valid.issues.join('; ')}`))
  // Every value takes a byte at least.
  const bounds = { values: Math.max(tool.maxResultBytes, FEWEST_VALUES), isExact: tool['~kind'] === 'step' }
  const json = toJson(valid.value, bounds)
  if (json instanceof JsonProblem)
    return unusable(
      tool,
      json.isTooMuch ? 'too-large' : 'not-json',
      secrets.cut(`it cannot be written as JSON: ${json.message}`, LONGEST_WHY),
    )
  const output = secrets.json(json)
  const bytes = jsonBytes(output)
  if (bytes > tool.maxResultBytes) return tooLarge(output, bytes, tool.maxResultBytes)
  const display = displayOf(tool, { display: given.display, value: valid.value })
  const status = given.failed ? 'error' : 'ok'
  const isCut = bytes > MAX_OUTPUT_BYTES
  return {
    status,
    output: isCut ? cutOutput({ status, output, bytes, limit: MAX_OUTPUT_BYTES }) : output,
    ...(isCut ? { cut: true } : {}),
    ...(display === undefined ? {} : { display: secrets.cut(display, tool.maxResultBytes) }),
    ...defined({ usage: given.usage, seen: given.seen }),
  }
}

async function validOutput(
  output: NonNullable<Tool['output']>,
  value: unknown,
  secrets: Redactor,
): Promise<Valid> {
  // A schema walks through everything it is given, as often as that is named.
  const json = toJson(value)
  if (json instanceof JsonProblem && json.isTooMuch) return { issues: [json.message] }
  try {
    const checked = await output['~standard'].validate(value)
    return checked.issues === undefined ? checked : { issues: issueLines(checked.issues) }
  } catch (error) {
    return { issues: [`it cannot be checked: ${thrown(error, secrets).error}`] }
  }
}

/** A text for people that cannot be made is no reason to call what happened an error. */
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

/** Nodes and steps of graphs are run under the rules of tools, and are none to whoever reads of them. */
function subjectOf(tool: Tool): string {
  return `The ${tool['~kind'] ?? 'tool'}`
}

const SHOWN = 2000
const LONGEST_WHY = 4000
const FEWEST_VALUES = 10_000

function tooLarge(output: Json, bytes: number, limit: number): Settled {
  return troubled({
    status: 'error',
    code: 'too-large',
    error: `The tool ran to its end, but its result has ${bytes} bytes and at most ${limit} are allowed. Ask for less: filter, or take it in parts.`,
    more: { bytes, limit, beginning: JSON.stringify(output).slice(0, SHOWN).toWellFormed() },
  })
}

function unusable(tool: Tool, code: TroubleCode, why: string): Settled {
  const isStep = tool['~kind'] === 'step'
  return troubled({
    status: 'error',
    code,
    error: `${isStep ? `Step ${tool.name}` : subjectOf(tool)} ran to its end, but its result cannot be used: ${why}.${isStep ? ' It is not done again.' : ''}`,
  })
}

async function asked(
  { tool, secrets = NO_SECRETS }: Finishing,
  requests: readonly AskRequest[],
): Promise<Settled | Questions> {
  const written: AskedRequest[] = []
  for (const request of requests) {
    const question = await writtenDown(tool, request)
    if (typeof question === 'string') return badQuestion(tool, question, secrets)
    // Its answer would not be found again under another name.
    if (secrets.isIn(question.name)) return badQuestion(tool, 'its name contains a credential', secrets)
    written.push(secrets.json(question))
  }
  const bytes = jsonBytes(written)
  const most = Math.min(tool.maxResultBytes, MAX_OUTPUT_BYTES)
  if (bytes > most) return badQuestion(tool, `it has ${bytes} bytes and at most ${most} are allowed`, secrets)
  return { requests: written }
}

/** The request as it will be stored, or what is wrong with it. */
async function writtenDown(tool: Tool, request: AskRequest): Promise<AskedRequest | string> {
  const { name = DEFAULT_NAME, multiple, schema, kind, prompt, options, about, expiresInMs } = request
  const described = describedBy(schema)
  if (typeof described === 'string') return described
  const json = toJson({
    kind,
    prompt,
    name,
    from: tool.name,
    schema: described,
    options,
    multiple: multiple ? true : undefined,
    expiresInMs,
    about,
  })
  if (json instanceof JsonProblem) return json.message
  const problem = described && (await schemaProblem(described))
  return problem === undefined ? (json as AskedRequest) : `its schema cannot be used: ${problem}`
}

function describedBy(schema: AskRequest['schema']): JsonObject | string | undefined {
  if (!isStandardSchema(schema)) return schema
  try {
    return jsonSchemaOf(schema, 'Give JSON Schema as `schema` instead')
  } catch (error) {
    return thrown(error).error
  }
}

function badQuestion(tool: Tool, why: string, secrets: Redactor): Settled {
  const what = `${subjectOf(tool)} wanted to ask something, but the question cannot be used: ${why}.`
  return troubled({ status: 'error', code: 'invalid-question', error: secrets.cut(what, LONGEST_WHY) })
}
