/** Reads this package's own messages. Ids that are good stay, so that reading what was repaired changes nothing. */
import type {
  FilePart,
  Json,
  JsonObject,
  SettledStatus,
  TextPart,
  UserContent,
} from '../../protocol/index.ts'
import {
  type ForeignCall,
  type ForeignPart,
  type ForeignResult,
  type Format,
  type Reading,
  Replies,
} from './foreign.ts'
import { dropPart, filePart, hasContent, isObject, partsOf, resultIds, textIn, toolName } from './pieces.ts'

const ROLES: ReadonlySet<unknown> = new Set(['user', 'assistant', 'tool'])

export const holdfast: Format = {
  name: 'holdfast',
  expected: 'a message with role (user, assistant or tool) and content',
  fits: (item) => ROLES.has(item['role']) && item['type'] === undefined && hasContent(item),
  read(item, reading) {
    const { at } = reading
    const { role, content, model } = item
    if (role === 'user') return [{ kind: 'user', at, content: userContentOf(content, reading) }]
    const replies = new Replies(at, textIn(model))
    for (const part of partsOf(content, reading)) {
      const read = role === 'assistant' ? replyPart(part) : undefined
      if (part['type'] === 'tool-result') replies.result(resultOf(part))
      else if (read !== undefined) replies.part(read)
      else dropPart(part, reading)
    }
    return replies.said()
  },
}

function userContentOf(content: Json | undefined, reading: Reading): UserContent {
  if (typeof content === 'string') return content
  return partsOf(content, reading).flatMap((part): (TextPart | FilePart)[] => {
    const { type, text, data, mediaType, name } = part
    if (type === 'text' && typeof text === 'string') return [{ type, text, ...providerOf(part) }]
    const body = type === 'file' ? textIn(data) : undefined
    if (body !== undefined) return [filePart(body, { mediaType, name, guess: 'application/octet-stream' })]
    dropPart(part, reading)
    return []
  })
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

function resultOf({ callId, tool, status, output }: JsonObject): ForeignResult {
  const name = textIn(tool)
  return {
    ...resultIds(callId),
    ...(name === undefined ? {} : { tool: name }),
    status: STATUSES.has(status) ? (status as SettledStatus) : 'unknown',
    output: output ?? null,
  }
}
