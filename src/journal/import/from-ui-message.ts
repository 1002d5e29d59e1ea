/**
 * Reads the AI SDK's UI messages (`UIMessage`), where a call and its result are one part, and all steps of a turn are
 * one message: splits them again.
 */
import { defined, type JsonObject } from '../../protocol/index.ts'
import { unansweredBy } from './approvals.ts'
import { argumentsOf, callIds, resultIds, toolName } from './call-pieces.ts'
import { type ForeignCall, type ForeignResult, type HistoryItem, type Reading, Replies } from './foreign.ts'
import { dropPart, filePart, isObject, joinedText, objectsIn, partsOf, textIn } from './pieces.ts'
import { readUser, type UserPart } from './reading.ts'

export function readUiMessage(item: JsonObject, reading: Reading): readonly HistoryItem[] {
  const { at } = reading
  const parts = Array.isArray(item['parts']) ? partsOf(item['parts'], reading) : olderParts(item, reading)
  if (item['role'] === 'system') return [{ kind: 'system', at, text: joinedText(parts) }]
  if (item['role'] === 'user') return [readUser(parts, userPart, reading)]
  const replies = new Replies(at)
  for (const part of parts) readReplyPart(part, replies, reading)
  return replies.items()
}

/** Messages from before there were parts: the calls first, then the text. */
function olderParts(item: JsonObject, reading: Reading): readonly JsonObject[] {
  const calls = objectsIn(item['toolInvocations']).map((toolInvocation) => ({
    type: 'tool-invocation',
    toolInvocation,
  }))
  return [...calls, ...partsOf(item['content'], reading)]
}

function userPart(part: JsonObject): UserPart | undefined {
  const { type, text, url, data, mediaType, mimeType, filename } = part
  if (type === 'text' && typeof text === 'string') return { type, text }
  const body = type === 'file' ? (textIn(url) ?? textIn(data)) : undefined
  if (body === undefined) return undefined
  const guess = 'application/octet-stream'
  return filePart(body, { mediaType: mediaType ?? mimeType, name: filename, guess })
}

function readReplyPart(part: JsonObject, replies: Replies, reading: Reading): void {
  const { type, text, reasoning } = part
  if (type === 'step-start') replies.next()
  else if (type === 'text' && typeof text === 'string') replies.part({ type, text, ...providerOf(part) })
  else if (type === 'reasoning')
    replies.part({ type, text: textIn(text) ?? textIn(reasoning) ?? '', ...providerOf(part) })
  else if (isToolPart(part)) readTool(part, replies, reading)
  else dropPart(part, reading)
}

function isToolPart({ type }: JsonObject): boolean {
  return typeof type === 'string' && (type.startsWith('tool-') || type === 'dynamic-tool')
}

function readTool(part: JsonObject, replies: Replies, reading: Reading): void {
  const { type, toolInvocation } = part
  const raw = type === 'tool-invocation' && isObject(toolInvocation) ? toolInvocation : part
  const { toolName: named, toolCallId, input, rawInput, args } = raw
  const tool = toolName(named ?? textIn(type)?.slice('tool-'.length))
  const unanswered = pendingOf(raw)
  replies.part({
    ...callIds(toolCallId),
    tool,
    ...argumentsOf(input ?? args ?? rawInput, reading),
    ...providerOf(part),
    ...defined({ unanswered }),
  })
  const settled = settledAs(raw)
  if (settled !== undefined) replies.result({ ...resultIds(toolCallId), tool, ...settled })
}

function settledAs(raw: JsonObject): Pick<ForeignResult, 'status' | 'output'> | undefined {
  const { state, output, result, errorText, approval } = raw
  if (state === 'output-available') return { status: 'ok', output: output ?? null }
  if (state === 'result') return { status: 'ok', output: result ?? null }
  if (state === 'output-error') return { status: 'error', output: textIn(errorText) ?? 'Failed.' }
  const { approved, reason } = isObject(approval) ? approval : { approved: undefined, reason: undefined }
  if (state === 'output-denied' || approved === false)
    return { status: 'rejected', output: textIn(reason) ?? 'Refused.' }
  return undefined
}

/** Result of a call without one, if its state determines it. */
function pendingOf({ state }: JsonObject): ForeignCall['unanswered'] {
  if (state === 'input-streaming' || state === 'partial-call')
    return { status: 'not-run', output: 'Not run: its arguments never arrived whole.' }
  return state === 'approval-requested' ? unansweredBy({}) : undefined
}

/** Provider data of a part, in the fields of all versions of the AI SDK. */
export function providerOf(part: JsonObject): { readonly provider?: JsonObject } {
  const { providerOptions, providerMetadata, callProviderMetadata } = part
  const provider = providerOptions ?? callProviderMetadata ?? providerMetadata
  return isObject(provider) && Object.keys(provider).length > 0 ? { provider } : {}
}
