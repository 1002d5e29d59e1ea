/** Reads messages of Anthropic's API. Its results are in user messages, before the user's own parts. */
import type { JsonObject } from '../../protocol/index.ts'
import { argumentsOf, attached, callIds, outputOf, resultIds, toolName } from './call-pieces.ts'
import {
  type ForeignPart,
  type ForeignResult,
  type Format,
  type HistoryItem,
  type Reading,
  Replies,
} from './foreign.ts'
import { dropPart, filePart, hasContent, isObject, joinedText, partsOf, textIn } from './pieces.ts'
import { readUserAndResults, type UserPart } from './reading.ts'

const ROLES: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant'])

export const anthropic: Format = {
  name: 'anthropic',
  expected: 'an object with role (user or assistant) and content, a text or a list of blocks',
  fits: (item) => {
    const { role, type } = item
    return ROLES.has(role) && (type === undefined || type === 'message') && hasContent(item)
  },
  read(item, reading) {
    const parts = partsOf(item['content'], reading)
    const result = (part: JsonObject) => resultOf(part, reading)
    if (item['role'] === 'user')
      return readUserAndResults(parts, { content: anthropicUserPart, result }, reading)
    if (item['role'] === 'assistant') return readAssistant(item, parts, reading)
    return [{ kind: 'system', at: reading.at, text: joinedText(parts) }]
  },
}

/** Text, image or document; undefined for other parts, and for references to files kept elsewhere. */
export function anthropicUserPart(part: JsonObject): UserPart | undefined {
  const { type, text, source, title } = part
  if (type === 'text' && typeof text === 'string') return { type: 'text', text }
  if ((type !== 'image' && type !== 'document') || !isObject(source)) return undefined
  const { type: kind, media_type: mediaType, data, url } = source
  const body = textIn(data) ?? textIn(url)
  if (body === undefined) return undefined
  if (kind === 'text')
    return { type: 'text', text: [textIn(title) ?? [], body].flat().join('\n\n'), by: 'program' }
  const guess = type === 'image' ? 'image/*' : 'application/pdf'
  return filePart(body, { mediaType, name: title, guess })
}

function readAssistant(
  item: JsonObject,
  parts: readonly JsonObject[],
  reading: Reading,
): readonly HistoryItem[] {
  const model = textIn(item['model'])
  const replies = new Replies(reading.at, model === undefined ? undefined : `anthropic/${model}`)
  for (const part of parts) {
    const read = anthropicReplyPart(part, reading)
    if (read !== undefined) replies.part(read)
    else if (part['type'] !== 'text') dropPart(part, reading)
  }
  return replies.items()
}

export function anthropicReplyPart(part: JsonObject, reading: Reading): ForeignPart | undefined {
  const { type, text, thinking, signature, data, id, name, input } = part
  if (type === 'text' && typeof text === 'string' && text !== '') return { type, text }
  if (type === 'thinking')
    return {
      type: 'reasoning',
      text: textIn(thinking) ?? '',
      ...attached('anthropic', 'signature', signature),
    }
  if (type === 'redacted_thinking')
    return { type: 'reasoning', text: '', ...attached('anthropic', 'redactedData', data) }
  if (type !== 'tool_use') return undefined
  return { ...callIds(id), tool: toolName(name), ...argumentsOf(input, reading) }
}

function resultOf(part: JsonObject, reading: Reading): ForeignResult | undefined {
  if (part['type'] !== 'tool_result') return undefined
  return {
    ...resultIds(part['tool_use_id']),
    status: part['is_error'] === true ? 'error' : 'ok',
    output: outputOf(part['content'] ?? '', reading),
  }
}
