/** Calls and results in all formats: ids, names, arguments, outputs. */
import { defined, isDeeperThan, type Json, type JsonObject } from '../../protocol/index.ts'
import type { ForeignCall, ForeignResult, Reading } from './foreign.ts'
import { dropPart, isObject, joinedText, objectsIn, textIn } from './pieces.ts'

export function callIds(rawId: unknown): Pick<ForeignCall, 'type' | 'id' | 'providerId'> {
  const id = textIn(rawId)
  return { type: 'tool-call', ...(id === undefined ? {} : { id, providerId: id }) }
}

export function resultIds(rawId: unknown, rawTool?: unknown): Pick<ForeignResult, 'id' | 'tool'> {
  const [id, tool] = [textIn(rawId), textIn(rawTool)]
  return defined({ id, tool })
}

/** Provider data under the vendor's name; empty if the value is no text. */
export function attached(vendor: string, key: string, value: unknown): { readonly provider?: JsonObject } {
  const text = textIn(value)
  return text === undefined ? {} : { provider: { [vendor]: { [key]: text } } }
}

const LONGEST_NAME = 128

export function toolName(name: unknown): string {
  return textIn(name)?.slice(0, LONGEST_NAME).toWellFormed() ?? 'unnamed'
}

type Arguments = Pick<ForeignCall, 'args' | 'malformed'>

/** Arguments are an object, or its JSON. Missing arguments are an empty object. */
export function argumentsOf(raw: Json | undefined, { note }: Reading): Arguments {
  if (raw === undefined || raw === null || (typeof raw === 'string' && raw.trim() === '')) return { args: {} }
  const parsed = typeof raw === 'string' ? parse(raw) : raw
  const malformed = problemOf(parsed)
  if (malformed === undefined) return { args: parsed as JsonObject }
  const text = typeof raw === 'string' ? raw : JSON.stringify(raw)
  note('arguments-malformed', `A call was kept with arguments that no tool can use: ${malformed}.`)
  return { args: text, malformed }
}

/** Items have a bounded depth, and JSON inside of their texts has not. */
const DEEPEST = 200

function problemOf(parsed: Json | undefined): string | undefined {
  if (parsed === undefined) return 'the arguments are not JSON'
  if (!isObject(parsed)) return 'the arguments are not a JSON object'
  return isDeeperThan(DEEPEST, parsed)
    ? `the arguments are nested more than ${DEEPEST} levels deep`
    : undefined
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/**
 * The output of a tool. A list of typed parts becomes their texts; other parts are dropped with a note. Any other list
 * is data of the tool, and stays.
 */
export function outputOf(content: Json | undefined, reading: Reading): Json {
  if (content === undefined) return null
  if (!Array.isArray(content)) return content
  const parts = objectsIn(content).filter(({ type }) => typeof type === 'string')
  if (parts.length === 0 || parts.length < content.length) return content as Json[]
  for (const part of parts) if (typeof part['text'] !== 'string') dropPart(part, reading)
  return joinedText(parts)
}
