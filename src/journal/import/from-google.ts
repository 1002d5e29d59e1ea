/** Reads Gemini's contents, in the spelling of the API and in that of its Python client. */
import type { FilePart, Json, JsonObject, TextPart } from '../../protocol/index.ts'
import {
  type ForeignPart,
  type ForeignResult,
  type Format,
  type Reading,
  Replies,
  type Said,
} from './foreign.ts'
import {
  argumentsOf,
  attached,
  callIds,
  dropPart,
  filePart,
  isObject,
  joinedText,
  partsOf,
  resultIds,
  textIn,
  toolName,
  userContent,
} from './pieces.ts'

const ROLES: ReadonlySet<unknown> = new Set(['user', 'model', 'function', 'tool', 'system', undefined])

export const google: Format = {
  name: 'google',
  expected: 'an object with role (user or model) and parts',
  fits: ({ role, parts }) => ROLES.has(role) && Array.isArray(parts),
  read(item, reading) {
    const parts = partsOf(item['parts'], reading).map(inOneSpelling)
    if (item['role'] === 'model') return readModel(parts, reading)
    if (item['role'] === 'system') return [{ kind: 'system', at: reading.at, text: joinedText(parts) }]
    return readUser(parts, reading)
  },
}

function inOneSpelling(part: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) => [
      key.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  )
}

function readUser(parts: readonly JsonObject[], reading: Reading): readonly Said[] {
  const { at } = reading
  const results: ForeignResult[] = []
  const content: (TextPart | FilePart)[] = []
  for (const part of parts) {
    const read = userPart(part)
    if (isObject(part['functionResponse'])) results.push(resultOf(part['functionResponse']))
    else if (read === undefined) dropPart(part, reading)
    else content.push(read)
  }
  if (results.length === 0) return [{ kind: 'user', at, content: userContent(content) }]
  const answered: Said = { kind: 'results', at, results }
  return content.length === 0 ? [answered] : [answered, { kind: 'user', at, content: userContent(content) }]
}

function userPart({ text, inlineData, fileData }: JsonObject): TextPart | FilePart | undefined {
  if (typeof text === 'string') return { type: 'text', text }
  const { data, fileUri, mimeType, displayName } = inOneSpelling(
    isObject(inlineData) ? inlineData : isObject(fileData) ? fileData : {},
  )
  const body = textIn(data) ?? textIn(fileUri)
  if (body === undefined) return undefined
  return filePart(body, { mediaType: mimeType, name: displayName, guess: 'application/octet-stream' })
}

function readModel(parts: readonly JsonObject[], reading: Reading): readonly Said[] {
  const replies = new Replies(reading.at)
  for (const part of parts) {
    const read = replyPart(part, reading)
    if (isObject(part['functionResponse'])) replies.result(resultOf(part['functionResponse']))
    else if (read !== undefined) replies.part(read)
    else dropPart(part, reading)
  }
  return replies.said()
}

function replyPart(part: JsonObject, reading: Reading): ForeignPart | undefined {
  const { text, thought, thoughtSignature, functionCall } = part
  const signed = attached('google', 'thoughtSignature', thoughtSignature)
  if (typeof text === 'string') return { type: thought === true ? 'reasoning' : 'text', text, ...signed }
  if (!isObject(functionCall)) return undefined
  const { id, name, args } = functionCall
  return { ...callIds(id), tool: toolName(name), ...argumentsOf(args, reading), ...signed }
}

/** The API wants an object; clients put what the tool returned under `output` or `result`, and failures under `error`. */
function resultOf({ id, name, response }: JsonObject): ForeignResult {
  return { ...resultIds(id), tool: toolName(name), ...settled(response ?? null) }
}

function settled(response: Json): Pick<ForeignResult, 'status' | 'output'> {
  const [[key, value] = [], ...more] = isObject(response) ? Object.entries(response) : []
  if (more.length > 0 || value === undefined) return { status: 'ok', output: response }
  if (key === 'error') return { status: 'error', output: value }
  return { status: 'ok', output: key === 'output' || key === 'result' ? value : response }
}
