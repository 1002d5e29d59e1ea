/** Reads this package's own messages, such as those of `agent.session`. Valid ids stay, so that reading a repaired history changes nothing. */
import type { Json, JsonObject, SettledStatus, UserContent } from '../../protocol/index.ts'
import { resultIds, toolName } from './call-pieces.ts'
import type { ForeignCall, ForeignPart, ForeignResult, Format, Reading } from './foreign.ts'
import { filePart, hasContent, isObject, joinedText, partsOf, textIn } from './pieces.ts'
import { readEach, readReplies, type UserPart } from './reading.ts'

const ROLES: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant', 'tool'])

export const holdfast: Format = {
  name: 'holdfast',
  expected: 'a message with role (system, user, assistant or tool) and content',
  fits: (item) => ROLES.has(item['role']) && item['type'] === undefined && hasContent(item),
  read(item, reading) {
    const { at } = reading
    const { role, content, model } = item
    if (role === 'system') return [{ kind: 'system', at, text: joinedText(partsOf(content, reading)) }]
    if (role === 'user')
      return [{ kind: 'user', at, content: userContentOf(content, reading), ...byOf(item) }]
    const reply = role === 'assistant' ? replyPart : () => undefined
    return readReplies(
      partsOf(content, reading),
      { content: reply, result: resultOf, model: textIn(model) },
      reading,
    )
  },
}

function userContentOf(content: Json | undefined, reading: Reading): UserContent {
  return typeof content === 'string' ? content : readEach(partsOf(content, reading), userPart, reading)
}

function userPart(part: JsonObject): UserPart | undefined {
  const { type, text, data, mediaType, name } = part
  if (type === 'text' && typeof text === 'string') return { type, text, ...byOf(part), ...providerOf(part) }
  const body = type === 'file' ? textIn(data) : undefined
  return body === undefined
    ? undefined
    : filePart(body, { mediaType, name, guess: 'application/octet-stream' })
}

function replyPart(part: JsonObject): ForeignPart | undefined {
  const { type, text, callId, providerId, tool, args, malformed } = part
  if ((type === 'text' || type === 'reasoning') && typeof text === 'string')
    return { type, text, ...providerOf(part) }
  if (type !== 'tool-call') return undefined
  const id = textIn(callId)
  const call: ForeignCall = { type, tool: toolName(tool), args: args ?? {}, ...providerOf(part) }
  return {
    ...call,
    ...(id === undefined ? {} : { id, callId: id }),
    ...(typeof providerId === 'string' ? { providerId } : {}),
    ...(typeof malformed === 'string' ? { malformed } : {}),
  }
}

function byOf({ by }: JsonObject): { readonly by?: 'program' } {
  return by === undefined ? {} : { by: 'program' }
}

function providerOf({ provider }: JsonObject): { readonly provider?: JsonObject } {
  return isObject(provider) ? { provider } : {}
}

const STATUSES: ReadonlySet<unknown> = new Set<SettledStatus>([
  'ok',
  'error',
  'rejected',
  'unknown',
  'not-run',
])

function resultOf({ type, callId, tool, status, output }: JsonObject): ForeignResult | undefined {
  if (type !== 'tool-result') return undefined
  return {
    ...resultIds(callId, tool),
    status: STATUSES.has(status) ? (status as SettledStatus) : 'unknown',
    output: output ?? null,
  }
}
