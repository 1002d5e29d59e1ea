/**
 * What a tool returned or threw, made fit to be stored and shown: JSON, of bounded size, valid, without secrets. How long
 * the tool took and who waited is not known here.
 */
import { type Json, type JsonObject, MAX_OUTPUT_BYTES, type RequestData } from '../protocol/index.ts'
import { cutOutput } from './cut-output.ts'
import { schemaProblem } from './json-schema.ts'
import { redact } from './redact.ts'
import { type AskRequest, askedBy, DEFAULT_NAME, isToolResult, type ToolResult } from './result.ts'
import { isStandardSchema, issueLines, jsonSchemaOf } from './standard-schema.ts'
import { JsonProblem, jsonBytes, toJson } from './to-json.ts'
import type { Settled, Tool } from './tool.ts'
import { type TroubleCode, thrown, troubled } from './trouble.ts'

/** How a run ended: with a result, or with questions whose answers it wants before it is run again. */
export type CallEnd = ({ readonly kind: 'settled' } & Settled) | ({ readonly kind: 'asks' } & Questions)

export interface Questions {
  readonly requests: readonly AskedRequest[]
}

/** A question as a tool asked it; whoever stores it adds its id, its call and when it expires. */
export type AskedRequest = Omit<RequestData, 'requestId' | 'callId' | 'expiresAt' | 'name' | 'from'> & {
  readonly name: string
  readonly from: string
  readonly expiresInMs?: number
}

interface Finishing {
  readonly tool: Tool
  readonly secrets?: readonly string[]
}

/** What was returned, as a result or as questions. Never rejects. */
export async function finished(finishing: Finishing, returned: unknown): Promise<Settled | Questions> {
  const requests = askedBy(returned)
  return requests === undefined ? result(finishing, returned) : asked(finishing, requests)
}

/** What was thrown, as the result. */
export function failed(error: unknown, signal: AbortSignal, secrets: readonly string[]): Settled {
  const what = thrown(error)
  if (!signal.aborted) return { status: 'error', output: redact({ ...what }, secrets) }
  const isLate = signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError'
  const code: TroubleCode = isLate ? 'timeout' : 'cancelled'
  const text = isLate ? 'The tool was stopped when its time was up' : 'The call was cancelled'
  return redactedSettled(troubled({ status: 'error', code, error: `${text}: ${what.error}` }), secrets)
}

async function result({ tool, secrets = [] }: Finishing, returned: unknown): Promise<Settled> {
  const given: Partial<ToolResult<unknown>> = isToolResult(returned) ? returned : { data: returned }
  const valid = await validOutput(tool, given.data)
  if (!('value' in valid)) {
    return redactedSettled(unusable('invalid-output', `it does not fit: ${valid.issues.join('; ')}`), secrets)
  }
  const json = toJson(valid.value)
  if (json instanceof JsonProblem) {
    return redactedSettled(unusable('not-json', `it cannot be written as JSON: ${json.message}`), secrets)
  }
  const output = redact(json, secrets)
  const bytes = jsonBytes(output)
  if (bytes > tool.maxResultBytes) return tooLarge(output, bytes, tool.maxResultBytes)
  const display = displayOf(tool, { display: given.display, value: valid.value })
  const status = given.failed ? 'error' : 'ok'
  const isCut = bytes > MAX_OUTPUT_BYTES
  return {
    status,
    output: isCut ? cutOutput({ status, output, bytes, limit: MAX_OUTPUT_BYTES }) : output,
    ...(isCut ? { cut: true } : {}),
    ...(display === undefined ? {} : { display: shortened(redact(display, secrets), tool.maxResultBytes) }),
    ...(given.usage === undefined ? {} : { usage: given.usage }),
    ...(given.seen === undefined ? {} : { seen: given.seen }),
  }
}

async function validOutput(
  { output }: Tool,
  value: unknown,
): Promise<{ readonly value: unknown } | { readonly issues: readonly string[] }> {
  if (output === undefined) return { value }
  try {
    const checked = await output['~standard'].validate(value)
    return checked.issues === undefined ? checked : { issues: issueLines(checked.issues) }
  } catch (error) {
    return { issues: [`it cannot be checked: ${thrown(error).error}`] }
  }
}

/** A text for people that cannot be made is no reason to call what happened an error. */
function displayOf(
  tool: Tool,
  { display, value }: { readonly display: unknown; readonly value: unknown },
): string | undefined {
  try {
    const text: unknown = display ?? tool.display?.(value)
    return typeof text === 'string' ? text.toWellFormed() : undefined
  } catch {
    return undefined
  }
}

const SHOWN = 2000

function tooLarge(output: Json, bytes: number, limit: number): Settled {
  return troubled({
    status: 'error',
    code: 'too-large',
    error: `The tool ran to its end, but its result has ${bytes} bytes and at most ${limit} are allowed. Ask for less: filter, or take it in parts.`,
    more: { bytes, limit, beginning: JSON.stringify(output).slice(0, SHOWN).toWellFormed() },
  })
}

function unusable(code: TroubleCode, why: string): Settled {
  return troubled({
    status: 'error',
    code,
    error: `The tool ran to its end, but its result cannot be used: ${why}.`,
  })
}

async function asked(
  { tool, secrets = [] }: Finishing,
  requests: readonly AskRequest[],
): Promise<Settled | Questions> {
  const written: AskedRequest[] = []
  for (const request of requests) {
    const question = await writtenDown(tool, request)
    if (typeof question === 'string') return badQuestion(question, secrets)
    written.push(redact(question, secrets))
  }
  const bytes = jsonBytes(written)
  const most = Math.min(tool.maxResultBytes, MAX_OUTPUT_BYTES)
  if (bytes > most) return badQuestion(`it has ${bytes} bytes and at most ${most} are allowed`, secrets)
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

function badQuestion(why: string, secrets: readonly string[]): Settled {
  const error = `The tool wanted to ask something, but the question cannot be used: ${why}.`
  return redactedSettled(troubled({ status: 'error', code: 'invalid-question', error }), secrets)
}

function redactedSettled(settled: Settled, secrets: readonly string[]): Settled {
  return { ...settled, output: redact(settled.output, secrets) }
}

function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…`.toWellFormed() : text
}
