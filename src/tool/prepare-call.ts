/** A call as the model asked for it: is there such a tool, and do the arguments fit? It runs nothing. */
import { chain, isPromise, type MaybePromise } from '../base/index.ts'
import { HoldfastError, type Json, type JsonObject, nearestName, quote, shown } from '../protocol/index.ts'
import { issueLines, type StandardResult } from './standard-schema.ts'
import { thrown } from './thrown.ts'
import { JsonProblem, toJson } from './to-json.ts'
import type { Settled, Tool } from './tool.ts'
import { troubled } from './tool-errors.ts'

/** A call as the model asked for it. */
export interface RequestedCall {
  readonly callId: string
  readonly tool: string
  readonly args: Json
  /** Why the arguments cannot be used; `args` is then the text that the model wrote. */
  readonly malformed?: string
}

/**
 * `input` is what the schema made of the arguments, for `run`; `args` are the arguments as given, for the journal. A call
 * that cannot be run is settled as rejected, with all that the model needs to do better.
 */
export type Prepared =
  | { readonly ok: true; readonly tool: Tool; readonly input: unknown; readonly args: Json }
  | { readonly ok: false; readonly settled: Settled }

export function findTool(tools: readonly Tool[], name: string): Tool | undefined {
  return tools.find((tool) => tool.name === name)
}

/** Throws if two tools have the same name, or one was not made by `defineTool`. */
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

function notATool(given: unknown, place: number): string {
  const { name, execute, inputSchema } = (given ?? {}) as Record<string, unknown>
  if (typeof name === 'string' && typeof given === 'object')
    return `${quote(name)} in the list of tools is no tool. Make it with defineTool().`
  const isForeign = execute !== undefined || inputSchema !== undefined
  const what = isForeign ? 'looks like one of the AI SDK' : `is ${shown(given)}`
  return `Tool ${place} of the list ${what}. Make it with defineTool({ name, description, input, run }).`
}

/** The tool that a call means, and its arguments against the schema. Never fails. */
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
    troubled({
      status: 'rejected',
      code: 'invalid-arguments',
      error: `The arguments of ${tool.name} do not fit. ${lines.join('; ')}. Nothing was done. Correct them and call again.`,
      more: { issues: lines, parameters: tool.parameters },
    }),
  )
}

function validated(tool: Tool, args: Json): MaybePromise<StandardResult<unknown>> {
  // Arguments that are nested without end would break whoever walks through them later.
  const json = toJson(args)
  if (json instanceof JsonProblem) return { issues: [{ message: `Of no use: ${json.message}` }] }
  const unchecked = (error: unknown): StandardResult<unknown> => ({
    issues: [{ message: `They cannot be checked: ${thrown(error).error}` }],
  })
  try {
    // A model that wants to give no arguments may well give nothing at all.
    const result = tool.input['~standard'].validate(args ?? {})
    return isPromise(result) ? Promise.resolve(result).catch(unchecked) : result
  } catch (error) {
    return unchecked(error)
  }
}

function unknownTool(name: string, tools: readonly Tool[]): Settled {
  const names = tools.map((tool) => tool.name)
  const nearest = nearestName(name, names)
  const hint = nearest === undefined ? '' : ` Did you mean ${nearest}?`
  const there = names.length === 0 ? 'There are no tools.' : `The tools are: ${names.join(', ')}.`
  return troubled({
    status: 'rejected',
    code: 'unknown-tool',
    error: `There is no tool called ${quote(name)}.${hint} ${there}`,
    more: { tools: names, ...(nearest === undefined ? {} : { nearest }) },
  })
}

function malformed({ args, malformed: why = '' }: RequestedCall, tool: Tool): Settled {
  const place = typeof args === 'string' ? placeOf(args) : undefined
  const known =
    place === undefined || why.includes(place.message) ? why : `${why.replace(/\.$/, '')}: ${place.message}`
  const near: JsonObject = place?.near === undefined ? {} : { near: place.near }
  return troubled({
    status: 'rejected',
    code: 'malformed-arguments',
    error: `The arguments of ${tool.name} are not JSON: ${known.replace(/\.$/, '')}. Nothing was done. Call again with an object.`,
    more: { ...near, parameters: tool.parameters },
  })
}

/** Where the text stops being JSON, and what stands there. */
function placeOf(text: string): { readonly message: string; readonly near?: string } | undefined {
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
