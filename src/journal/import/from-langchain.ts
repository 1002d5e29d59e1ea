/**
 * Reads LangChain's messages: live objects (by their `toJSON`), `{ lc, type: 'constructor' }`, `messages_to_dict`, and
 * plain ones with `type` or `role`.
 */
import type { FilePart, JsonObject } from '../../protocol/index.ts'
import { argumentsOf, callIds, outputOf, resultIds, toolName } from './call-pieces.ts'
import { type ForeignCall, type Format, type HistoryItem, type Reading, Replies } from './foreign.ts'
import { anthropicReplyPart, anthropicUserPart } from './from-anthropic.ts'
import { openaiCalls, openaiUserPart } from './from-openai.ts'
import { dropPart, filePart, isObject, joinedText, objectsIn, partsOf, textIn } from './pieces.ts'
import { readUser, type UserPart } from './reading.ts'

type Kind = 'user' | 'assistant' | 'tool' | 'system'

const KINDS: Readonly<Record<string, Kind>> = {
  human: 'user',
  user: 'user',
  ai: 'assistant',
  assistant: 'assistant',
  tool: 'tool',
  function: 'tool',
  system: 'system',
  developer: 'system',
}

export const langchain: Format = {
  name: 'langchain',
  expected:
    'a message of LangChain: an object of its classes, its toJSON, or one with type (human, ai, tool, system)',
  fits: (item) => fieldsOf(item) !== undefined,
  read(item, reading) {
    const { kind, fields } = fieldsOf(item) ?? { kind: 'system', fields: {} }
    const { at } = reading
    if (kind === 'assistant') return readReply(fields, reading)
    if (kind === 'tool') return [readResult(fields, reading)]
    const parts = partsOf(fields['content'], reading)
    if (kind === 'system') return [{ kind, at, text: joinedText(parts) }]
    return [readUser(parts, userPart, reading)]
  },
}

function fieldsOf(item: JsonObject): { readonly kind: Kind; readonly fields: JsonObject } | undefined {
  const { lc, type, id, kwargs, data, role } = item
  if (lc !== undefined && type === 'constructor' && Array.isArray(id) && isObject(kwargs)) {
    const name = /^(\w+?)Message(Chunk)?$/.exec(textIn(id.at(-1)) ?? '')?.[1]?.toLowerCase()
    return known(name === 'chat' ? kwargs['role'] : name, kwargs)
  }
  if (isObject(data)) return known(type === 'chat' || type === 'generic' ? data['role'] : type, data)
  const isGeneric = type === undefined || type === 'chat' || type === 'generic'
  return known(isGeneric ? role : type, item)
}

function known(name: unknown, fields: JsonObject): ReturnType<typeof fieldsOf> {
  const kind = typeof name === 'string' && Object.hasOwn(KINDS, name) ? KINDS[name] : undefined
  const { content } = fields
  const mayBeEmpty = kind === 'assistant' && (content ?? null) === null
  const isReadable = typeof content === 'string' || Array.isArray(content) || mayBeEmpty
  return kind === undefined || !isReadable || fields['parts'] !== undefined ? undefined : { kind, fields }
}

function userPart(part: JsonObject): UserPart | undefined {
  return openaiUserPart(part) ?? anthropicUserPart(part) ?? standardFile(part)
}

const MEDIA: ReadonlySet<string> = new Set(['image', 'audio', 'video', 'file'])

/** LangChain's own file blocks, of versions 0.3 and 1. */
function standardFile(part: JsonObject): FilePart | undefined {
  const { type, data, url, mime_type: mime, mimeType, filename } = part
  const body = textIn(data) ?? textIn(url)
  if (body === undefined || typeof type !== 'string' || !MEDIA.has(type)) return undefined
  const guess = type === 'file' ? 'application/octet-stream' : `${type}/*`
  return filePart(body, { mediaType: mime ?? mimeType, name: filename, guess })
}

function readReply(fields: JsonObject, reading: Reading): readonly HistoryItem[] {
  const replies = new Replies(reading.at, modelOf(fields))
  const calls = callsOf(fields, reading)
  for (const part of partsOf(fields['content'], reading)) {
    if (part['type'] === 'reasoning')
      replies.part({ type: 'reasoning', text: textIn(part['reasoning']) ?? textIn(part['text']) ?? '' })
    else if (isCall(part)) {
      if (calls.length > 0) continue
      replies.part({
        ...callIds(part['id']),
        tool: toolName(part['name']),
        ...argumentsOf(part['input'] ?? part['args'], reading),
      })
    } else {
      const read = anthropicReplyPart(part, reading)
      if (read !== undefined) replies.part(read)
      else if (part['type'] !== 'text') dropPart(part, reading)
    }
  }
  for (const call of calls) replies.part(call)
  return replies.items()
}

/** Calls among the content are duplicates. */
function isCall({ type }: JsonObject): boolean {
  return type === 'tool_use' || type === 'tool_call' || type === 'input_json_delta'
}

function callsOf(fields: JsonObject, reading: Reading): readonly ForeignCall[] {
  const { tool_calls: calls, invalid_tool_calls: invalid, additional_kwargs: more } = fields
  const good = objectsIn(calls).map(({ id, name, args, function: named, ...rest }): ForeignCall => {
    if (!isObject(named)) return { ...callIds(id), tool: toolName(name), ...argumentsOf(args, reading) }
    const [call] = openaiCalls({ tool_calls: [{ id, function: named, ...rest }] as JsonObject[] }, reading)
    return call ?? { ...callIds(id), tool: toolName(name), args: {} }
  })
  const bad = objectsIn(invalid).map(({ id, name, args }): ForeignCall => {
    reading.note(
      'arguments-malformed',
      `A call was kept with arguments that no tool can use: LangChain marked it as invalid.`,
    )
    return {
      ...callIds(id),
      tool: toolName(name),
      args: textIn(args) ?? '',
      malformed: 'the arguments are not JSON',
    }
  })
  if (good.length + bad.length > 0 || !isObject(more)) return [...good, ...bad]
  return openaiCalls(more, reading)
}

const PROVIDERS: Readonly<Record<string, string>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'google',
  google_genai: 'google',
}

function modelOf({ response_metadata: metadata }: JsonObject): string | undefined {
  if (!isObject(metadata)) return undefined
  const provider = PROVIDERS[textIn(metadata['model_provider']) ?? '']
  const model = textIn(metadata['model_name']) ?? textIn(metadata['model'])
  return provider === undefined || model === undefined ? undefined : `${provider}/${model}`
}

function readResult(fields: JsonObject, reading: Reading): HistoryItem {
  const { tool_call_id: callId, name, content, status } = fields
  const result = {
    ...resultIds(callId, name),
    status: status === 'error' ? ('error' as const) : ('ok' as const),
    output: outputOf(content ?? '', reading),
  }
  return { kind: 'results', at: reading.at, results: [result] }
}
