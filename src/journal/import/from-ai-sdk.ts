/** Reads the AI SDK's messages for models (`ModelMessage`, before that `CoreMessage`), and hands those for screens on. */
import type { FilePart, Json, JsonObject, TextPart } from '../../protocol/index.ts'
import {
  type ForeignPart,
  type ForeignResult,
  type Format,
  type Reading,
  Replies,
  type Said,
} from './foreign.ts'
import { providerOf, readUiMessage } from './from-ui-message.ts'
import {
  argumentsOf,
  attached,
  callIds,
  dropPart,
  filePart,
  hasContent,
  isObject,
  joinedText,
  outputOf,
  partsOf,
  resultIds,
  textIn,
  toolName,
  userContent,
} from './pieces.ts'

const ROLES: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant', 'tool'])

export const aiSdk: Format = {
  name: 'ai-sdk',
  expected: 'a ModelMessage with role and content, or a UIMessage with role and parts',
  fits: (item) => {
    const { role, type, parts } = item
    return (
      ROLES.has(role) && type === undefined && (Array.isArray(parts) ? role !== 'tool' : hasContent(item))
    )
  },
  read(item, reading) {
    const { at } = reading
    if (Array.isArray(item['parts']) || Array.isArray(item['toolInvocations']))
      return readUiMessage(item, reading)
    const parts = partsOf(item['content'], reading)
    if (item['role'] === 'system') return [{ kind: 'system', at, text: joinedText(parts) }]
    if (item['role'] === 'user')
      return [{ kind: 'user', at, content: userContent(parts.flatMap((part) => userPart(part, reading))) }]
    if (item['role'] === 'assistant') return readAssistant(parts, reading)
    return readTool(parts, reading)
  },
}

function userPart(part: JsonObject, reading: Reading): (TextPart | FilePart)[] {
  const { type, text, image, data, mediaType, mimeType, filename } = part
  if (type === 'text' && typeof text === 'string') return [{ type: 'text', text }]
  const body = type === 'image' ? textIn(image) : type === 'file' ? textIn(data) : undefined
  if (body === undefined) {
    dropPart(part, reading)
    return []
  }
  const guess = type === 'image' ? 'image/*' : 'application/octet-stream'
  return [filePart(body, { mediaType: mediaType ?? mimeType, name: filename, guess })]
}

function readAssistant(parts: readonly JsonObject[], reading: Reading): readonly Said[] {
  const replies = new Replies(reading.at)
  for (const part of parts) {
    const read = replyPart(part, reading)
    if (part['type'] === 'tool-result') replies.result(resultOf(part, reading))
    else if (read !== undefined) replies.part(read)
    else dropPart(part, reading)
  }
  return replies.said()
}

function replyPart(part: JsonObject, reading: Reading): ForeignPart | undefined {
  const { type, text, signature, data, toolCallId, toolName: tool, input, args } = part
  const provider = providerOf(part)
  if (type === 'text' && typeof text === 'string') return { type, text, ...provider }
  if (type === 'reasoning') {
    return { type, text: textIn(text) ?? '', ...attached('anthropic', 'signature', signature), ...provider }
  }
  if (type === 'redacted-reasoning')
    return { type: 'reasoning', text: '', ...attached('anthropic', 'redactedData', data) }
  if (type !== 'tool-call') return undefined
  return { ...callIds(toolCallId), tool: toolName(tool), ...argumentsOf(input ?? args, reading), ...provider }
}

function readTool(parts: readonly JsonObject[], reading: Reading): readonly Said[] {
  const results = parts.flatMap((part) => {
    if (part['type'] === 'tool-result') return [resultOf(part, reading)]
    dropPart(part, reading)
    return []
  })
  return [{ kind: 'results', at: reading.at, results }]
}

function resultOf(part: JsonObject, reading: Reading): ForeignResult {
  const { toolCallId, toolName: tool, output, result, isError } = part
  const name = textIn(tool)
  return {
    ...resultIds(toolCallId),
    ...(name === undefined ? {} : { tool: name }),
    ...(output === undefined
      ? { status: isError === true ? 'error' : 'ok', output: result ?? null }
      : settled(output, reading)),
  }
}

function settled(output: Json, reading: Reading): Pick<ForeignResult, 'status' | 'output'> {
  const { type, value, reason } = isObject(output)
    ? output
    : { type: undefined, value: undefined, reason: undefined }
  if (type === 'text' || type === 'json') return { status: 'ok', output: value ?? null }
  if (type === 'error-text' || type === 'error-json') return { status: 'error', output: value ?? null }
  if (type === 'content') return { status: 'ok', output: outputOf(value, reading) }
  if (type === 'execution-denied') return { status: 'rejected', output: textIn(reason) ?? 'Refused.' }
  return { status: 'ok', output }
}
