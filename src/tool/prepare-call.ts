/** Checks a requested call: the tool exists, and the arguments fit. Runs nothing. */
import { chain, isPromise, type MaybePromise } from '../base/index.ts'
import {
  defined,
  HoldfastError,
  type Json,
  type JsonObject,
  nearestName,
  quote,
  shown,
} from '../protocol/index.ts'
import { issueLines, type StandardResult, validate } from './standard-schema.ts'
import { thrown } from './thrown.ts'
import { JsonProblem, toJson } from './to-json.ts'
import type { Settled, Tool } from './tool.ts'
import { callError } from './tool-errors.ts'

/** A call as the model requested it. */
export interface RequestedCall {
  readonly callId: string
  readonly tool: string
  readonly args: Json
  /** Why the arguments are unusable; `args` is then the model's text. */
  readonly malformed?: string
}

/**
 * `input` is the parsed arguments, for `run`; `args` are the arguments as given, for the journal. A call that cannot run is
 * settled as rejected, with everything the model needs to correct it.
 */
export type Prepared =
  | { readonly ok: true; readonly tool: Tool; readonly input: unknown; readonly args: Json }
  | { readonly ok: false; readonly settled: Settled }

export function findTool(tools: readonly Tool[], name: string): Tool | undefined {
  return tools.find((tool) => tool.name === name)
}

/** Throws if two tools have the same name, or one was not created by `defineTool`. */
export function checkTools(tools: readonly Tool[]): void {
  const names = new Set<string>()
  for (const [at, tool] of tools.entries()) {
    if (typeof tool?.run !== 'function' || typeof tool.parameters !== 'object')
      throw new HoldfastError('invalid-option', { message: notATool(tool, at + 1) })
    if (names.has(tool.name)) {
      throw new HoldfastError('invalid-option', {
        message: `Two tools are called ${quote(tool.name)}. Rename one of them.`,
        details: { tool: tool.name },
      })
    }
    names.add(tool.name)
  }
}

function notATool(value: unknown, position: number): string {
  const { name, execute, inputSchema } = (value ?? {}) as Record<string, unknown>
  if (typeof name === 'string' && typeof value === 'object')
    return `${quote(name)} in the list of tools is no tool. Make it with defineTool().`
  if (execute !== undefined || inputSchema !== undefined)
    return `Tool ${position} of the list is one of the AI SDK, and has no name there. Give it by name: tools: { weather: tool({ … }) }.`
  return `Tool ${position} of the list is ${shown(value)}. Make it with defineTool({ name, description, input, run }).`
}

/** Finds the tool of a call and validates its arguments. Never fails. */
export function prepareCall(call: RequestedCall, tools: readonly Tool[]): MaybePromise<Prepared> {
  const tool = findTool(tools, call.tool)
  if (tool === undefined) return refused(unknownTool(call.tool, tools))
  if (call.malformed !== undefined) return refused(malformed(call, tool))
  return chain(validated(tool, call.args), (result) => preparedBy(result, tool, call))
}

function preparedBy(result: StandardResult<unknown>, tool: Tool, call: RequestedCall): Prepared {
  if (result.issues === undefined) return { ok: true, tool, input: result.value, args: call.args }
  const lines = issueLines(result.issues)
  return refused(
    callError({
      status: 'rejected',
      code: 'invalid-arguments',
      error: `The arguments of ${tool.name} do not fit. ${lines.join('; ')}. Nothing was done. Correct them and call again.`,
      more: { issues: lines, parameters: tool.parameters },
    }),
  )
}

function validated(tool: Tool, args: Json): MaybePromise<StandardResult<unknown>> {
  // Arguments nested without end would break later readers.
  const json = toJson(args)
  if (json instanceof JsonProblem) return { issues: [{ message: `Of no use: ${json.message}` }] }
  const unchecked = (error: unknown): StandardResult<unknown> => ({
    issues: [{ message: `They cannot be checked: ${thrown(error).error}` }],
  })
  try {
    // A model may send nothing at all instead of empty arguments.
    const result = validate(tool.input, args ?? {}, `The \`input\` schema of tool ${quote(tool.name)}`)
    return isPromise(result) ? Promise.resolve(result).catch(unchecked) : result
  } catch (error) {
    return unchecked(error)
  }
}

function unknownTool(name: string, tools: readonly Tool[]): Settled {
  const names = tools.map((tool) => tool.name)
  const nearest = nearestName(name, names)
  const hint = nearest === undefined ? '' : ` Did you mean ${nearest}?`
  const available = names.length === 0 ? 'There are no tools.' : `The tools are: ${names.join(', ')}.`
  return callError({
    status: 'rejected',
    code: 'unknown-tool',
    error: `There is no tool called ${quote(name)}.${hint} ${available}`,
    more: { tools: names, ...defined({ nearest }) },
  })
}

function malformed({ args, malformed: why = '' }: RequestedCall, tool: Tool): Settled {
  const parseError = typeof args === 'string' ? jsonError(args) : undefined
  const known =
    parseError === undefined || why.includes(parseError.message)
      ? why
      : `${why.replace(/\.$/, '')}: ${parseError.message}`
  const near: JsonObject = parseError?.near === undefined ? {} : { near: parseError.near }
  return callError({
    status: 'rejected',
    code: 'malformed-arguments',
    error: `The arguments of ${tool.name} are not JSON: ${known.replace(/\.$/, '')}. Nothing was done. Call again with an object.`,
    more: { ...near, parameters: tool.parameters },
  })
}

/** The position where the text stops being JSON, with its surroundings. */
function jsonError(text: string): { readonly message: string; readonly near?: string } | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    const { message } = error as Error
    const position =
      /at position (\d+)/.exec(message)?.[1] ?? (message.includes('end of JSON') ? text.length : undefined)
    if (position === undefined) return { message }
    const near = text.slice(Math.max(0, Number(position) - 30), Number(position) + 30)
    return { message, near: near.toWellFormed() }
  }
}

function refused(settled: Settled): Prepared {
  return { ok: false, settled }
}
