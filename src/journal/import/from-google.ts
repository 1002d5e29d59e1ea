/** Reads Gemini's contents, in the spelling of the API and of its Python client. */
import type { Json, JsonObject } from '../../protocol/index.ts'
import { argumentsOf, attached, callIds, resultIds, toolName } from './call-pieces.ts'
import type { ForeignPart, ForeignResult, Format, Reading } from './foreign.ts'
import { dropPart, filePart, isObject, joinedText, objectsIn, partsOf, textIn } from './pieces.ts'
import { readReplies, readUserAndResults, type UserPart } from './reading.ts'

const ROLES: ReadonlySet<unknown> = new Set(['user', 'model', 'function', 'tool', 'system', undefined])

export const google: Format = {
  name: 'google',
  expected: 'an object with role (user or model) and parts',
  fits: ({ role, parts }) => ROLES.has(role) && Array.isArray(parts),
  read(item, reading) {
    const parts = partsOf(item['parts'], reading).map(camelCased)
    const content = (part: JsonObject) => replyPart(part, reading)
    const result = (part: JsonObject) => resultOf(part, reading)
    if (item['role'] === 'model') return readReplies(parts, { content, result }, reading)
    if (item['role'] === 'system') return [{ kind: 'system', at: reading.at, text: joinedText(parts) }]
    return readUserAndResults(parts, { content: userPart, result }, reading)
  },
}

function camelCased(part: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) => [
      key.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  )
}

function userPart({ text, inlineData, fileData }: JsonObject): UserPart | undefined {
  if (typeof text === 'string') return { type: 'text', text }
  const { data, fileUri, mimeType, displayName } = camelCased(
    isObject(inlineData) ? inlineData : isObject(fileData) ? fileData : {},
  )
  const body = textIn(data) ?? textIn(fileUri)
  if (body === undefined) return undefined
  return filePart(body, { mediaType: mimeType, name: displayName, guess: 'application/octet-stream' })
}

function replyPart(part: JsonObject, reading: Reading): ForeignPart | undefined {
  const { text, thought, thoughtSignature, functionCall } = part
  const signed = attached('google', 'thoughtSignature', thoughtSignature)
  if (typeof text === 'string') return { type: thought === true ? 'reasoning' : 'text', text, ...signed }
  if (!isObject(functionCall)) return undefined
  const { id, name, args } = functionCall
  return { ...callIds(id), tool: toolName(name), ...argumentsOf(args, reading), ...signed }
}

/** The API requires an object; clients put the output under `output` or `result`, and failures under `error`. */
function resultOf({ functionResponse: raw }: JsonObject, reading: Reading): ForeignResult | undefined {
  if (!isObject(raw)) return undefined
  const { id, name, response, parts } = raw
  for (const part of objectsIn(parts)) dropPart(part, reading)
  return { ...resultIds(id), tool: toolName(name), ...settled(response ?? null) }
}

function settled(response: Json): Pick<ForeignResult, 'status' | 'output'> {
  const [[key, value] = [], ...more] = isObject(response) ? Object.entries(response) : []
  if (more.length > 0 || value === undefined) return { status: 'ok', output: response }
  if (key === 'error') return { status: 'error', output: value }
  return { status: 'ok', output: key === 'output' || key === 'result' ? value : response }
}
