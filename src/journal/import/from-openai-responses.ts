/** Reads the items of OpenAI's Responses API, input and output alike. */
import type { JsonObject } from '../../protocol/index.ts'
import { argumentsOf, callIds, outputOf, resultIds, toolName } from './call-pieces.ts'
import type { ForeignPart, Format, HistoryItem, Reading } from './foreign.ts'
import { dropPart, filePart, hasContent, joinedText, objectsIn, partsOf, textIn } from './pieces.ts'
import { readUser, type UserPart } from './reading.ts'

const ROLES: ReadonlySet<unknown> = new Set(['system', 'developer', 'user', 'assistant'])

/** Each item is a part of a reply; the reader of the list joins consecutive ones into one reply. */
export const openaiResponses: Format = {
  name: 'openai-responses',
  expected: 'an item such as message, function_call, function_call_output or reasoning',
  fits: (item) => {
    const { type, role } = item
    if (type === undefined || type === 'message') return ROLES.has(role) && hasContent(item)
    return (
      typeof type === 'string' &&
      role === undefined &&
      /^(reasoning|item_reference|.*_call(_output)?)$/.test(type)
    )
  },
  read(item, reading) {
    const { type } = item
    if (type === undefined || type === 'message') return [readMessage(item, reading)]
    if (type === 'function_call' || type === 'custom_tool_call')
      return [reply(reading, callOf(item, reading))]
    if (type === 'function_call_output' || type === 'custom_tool_call_output')
      return [resultOf(item, reading)]
    if (type === 'reasoning') return [reply(reading, thoughtOf(item))]
    dropPart(item, reading)
    return []
  },
}

function reply({ at }: Reading, ...parts: readonly ForeignPart[]): HistoryItem {
  return { kind: 'assistant', at, parts }
}

function readMessage(item: JsonObject, reading: Reading): HistoryItem {
  const { at } = reading
  const parts = partsOf(item['content'], reading)
  if (item['role'] === 'user') return readUser(parts, userPart, reading)
  if (item['role'] !== 'assistant') return { kind: 'system', at, text: joinedText(parts) }
  const read = parts.flatMap((part): ForeignPart[] => {
    const text = textIn(part['text']) ?? textIn(part['refusal'])
    if (text !== undefined) return [{ type: 'text', text }]
    if (typeof part['text'] !== 'string') dropPart(part, reading)
    return []
  })
  return reply(reading, ...read)
}

function userPart(part: JsonObject): UserPart | undefined {
  const { text, image_url: image, file_data: data, file_url: url, filename: name } = part
  if (typeof text === 'string') return { type: 'text', text }
  const picture = textIn(image)
  if (picture !== undefined) return filePart(picture, { guess: 'image/*' })
  const file = textIn(data) ?? textIn(url)
  return file === undefined ? undefined : filePart(file, { name, guess: 'application/pdf' })
}

function callOf(item: JsonObject, reading: Reading): ForeignPart {
  const { call_id: callId, name, arguments: args, input } = item
  return {
    ...callIds(callId),
    tool: toolName(name),
    ...(item['type'] === 'custom_tool_call' ? { args: { input: input ?? '' } } : argumentsOf(args, reading)),
  }
}

function resultOf(item: JsonObject, reading: Reading): HistoryItem {
  const output = outputOf(item['output'], reading)
  const result = { ...resultIds(item['call_id']), status: 'ok', output } as const
  return { kind: 'results', at: reading.at, results: [result] }
}

function thoughtOf(item: JsonObject): ForeignPart {
  const { id, summary, content, encrypted_content: sealed } = item
  const source = objectsIn(content).length > 0 ? content : summary
  return {
    type: 'reasoning',
    text: joinedText(objectsIn(source)),
    ...(textIn(sealed) !== undefined
      ? { provider: { openai: { itemId: textIn(id) ?? null, reasoningEncryptedContent: sealed ?? null } } }
      : {}),
  }
}
