/** Reads the AI SDK's model messages (`ModelMessage`, before that `CoreMessage`), and delegates UI messages. */
import { defined, type Json, type JsonObject } from '../../protocol/index.ts'
import { isApprovalPart, joinApprovals, unansweredBy } from './approvals.ts'
import { argumentsOf, attached, callIds, outputOf, resultIds, toolName } from './call-pieces.ts'
import type { ForeignPart, ForeignResult, Format, Reading } from './foreign.ts'
import { providerOf, readUiMessage } from './from-ui-message.ts'
import { filePart, hasContent, isObject, joinedText, partsOf, textIn } from './pieces.ts'
import { readEach, readReplies, readUser, type UserPart } from './reading.ts'

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
  join: joinApprovals,
  read(item, reading) {
    const { at } = reading
    if (Array.isArray(item['parts']) || Array.isArray(item['toolInvocations']))
      return readUiMessage(item, reading)
    const all = partsOf(item['content'], reading)
    const parts = all.filter((part) => !isApprovalPart(part))
    if (item['role'] === 'system') return [{ kind: 'system', at, text: joinedText(parts) }]
    if (item['role'] === 'user') return [readUser(parts, userPart, reading)]
    const result = (part: JsonObject) =>
      part['type'] === 'tool-result' ? resultOf(part, reading) : undefined
    if (item['role'] === 'tool' && parts.length === 0 && all.length > 0) return []
    if (item['role'] === 'tool') return [{ kind: 'results', at, results: readEach(parts, result, reading) }]
    return readReplies(parts, { content: (part) => replyPart(part, reading), result }, reading)
  },
}

function userPart(part: JsonObject): UserPart | undefined {
  const { type, text, image, data, mediaType, mimeType, filename } = part
  if (type === 'text' && typeof text === 'string') return { type: 'text', text }
  const body = type === 'image' ? textIn(image) : type === 'file' ? fileBody(data) : undefined
  if (body === undefined) return undefined
  const guess = type === 'image' ? 'image/*' : 'application/octet-stream'
  return filePart(body, { mediaType: mediaType ?? mimeType, name: filename, guess })
}

/** A text, or since version 7 `{ type: 'data' | 'url' | 'text', … }`. A provider's file ids are unreadable. */
function fileBody(data: Json | undefined): string | undefined {
  if (!isObject(data)) return textIn(data)
  const { type, data: bytes, url, text } = data
  if (type === 'text') return typeof text === 'string' ? Buffer.from(text).toString('base64') : undefined
  return textIn(type === 'url' ? url : bytes)
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
  const unanswered = unansweredBy(part['approval'])
  return {
    ...callIds(toolCallId),
    tool: toolName(tool),
    ...argumentsOf(input ?? args, reading),
    ...provider,
    ...defined({ unanswered }),
  }
}

function resultOf(part: JsonObject, reading: Reading): ForeignResult {
  const { toolCallId, toolName: tool, output, result, isError } = part
  return {
    ...resultIds(toolCallId, tool),
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
