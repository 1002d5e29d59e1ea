/** Reads messages of OpenAI's chat completions, and of compatible APIs. */
import type { JsonObject } from '../../protocol/index.ts'
import { argumentsOf, callIds, outputOf, resultIds, toolName } from './call-pieces.ts'
import { type ForeignCall, type Format, type HistoryItem, type Reading, Replies } from './foreign.ts'
import { dropPart, filePart, hasContent, isObject, joinedText, objectsIn, partsOf, textIn } from './pieces.ts'
import { readUser, type UserPart } from './reading.ts'

const ROLES: ReadonlySet<unknown> = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])

export const openai: Format = {
  name: 'openai',
  expected: 'an object with role (system, developer, user, assistant, tool or function) and content',
  fits: (item) => ROLES.has(item['role']) && item['type'] === undefined && mayStand(item),
  read(item, reading) {
    const { at } = reading
    if (item['role'] === 'assistant') return readAssistant(item, reading)
    if (item['role'] === 'tool' || item['role'] === 'function') return [readResult(item, reading)]
    const parts = partsOf(item['content'], reading)
    if (item['role'] === 'user') return [readUser(parts, openaiUserPart, reading)]
    return [{ kind: 'system', at, text: joinedText(parts) }]
  },
}

/** Replies with calls only may have null or no content; other messages need it. */
function mayStand(item: JsonObject): boolean {
  if (hasContent(item)) return true
  return (item['content'] ?? null) === null && item['role'] !== 'user' && item['parts'] === undefined
}

/** Text, image, sound or file; undefined for other parts, and for references to files kept elsewhere. */
export function openaiUserPart(part: JsonObject): UserPart | undefined {
  const { type, text, image_url: image, input_audio: audio, file } = part
  if (type === 'text' && typeof text === 'string') return { type: 'text', text }
  const url = textIn(isObject(image) ? image['url'] : image)
  if (type === 'image_url' && url !== undefined) return filePart(url, { guess: 'image/*' })
  if (type === 'input_audio' && isObject(audio)) {
    const data = textIn(audio['data'])
    return data === undefined
      ? undefined
      : filePart(data, { guess: `audio/${textIn(audio['format']) ?? 'wav'}` })
  }
  const data = type === 'file' && isObject(file) ? textIn(file['file_data']) : undefined
  if (data === undefined || !isObject(file)) return undefined
  return filePart(data, { name: file['filename'], guess: 'application/pdf' })
}

function readAssistant(item: JsonObject, reading: Reading): readonly HistoryItem[] {
  const replies = new Replies(reading.at)
  const thought = textIn(item['reasoning_content'])
  if (thought !== undefined) replies.part({ type: 'reasoning', text: thought })
  for (const part of partsOf(item['content'], reading)) {
    const text = textIn(part['text']) ?? textIn(part['refusal'])
    if (text !== undefined) replies.part({ type: 'text', text })
    else if (part['type'] !== 'text') dropPart(part, reading)
  }
  const refusal = textIn(item['refusal'])
  if (refusal !== undefined) replies.part({ type: 'text', text: refusal })
  for (const call of openaiCalls(item, reading)) replies.part(call)
  return replies.items()
}

/** `tool_calls`, and the single `function_call` of the time before ids. */
export function openaiCalls(item: JsonObject, reading: Reading): readonly ForeignCall[] {
  const calls = objectsIn(item['tool_calls']).map((call): ForeignCall => {
    const { function: named, custom } = call
    const { name, arguments: args } = isObject(named) ? named : { name: undefined, arguments: undefined }
    if (isObject(custom))
      return {
        ...callIds(call['id']),
        tool: toolName(custom['name']),
        args: { input: custom['input'] ?? '' },
      }
    return { ...callIds(call['id']), tool: toolName(name), ...argumentsOf(args, reading) }
  })
  const { function_call: single } = item
  if (!isObject(single)) return calls
  const { name, arguments: args } = single
  return [...calls, { type: 'tool-call', tool: toolName(name), ...argumentsOf(args, reading) }]
}

function readResult(item: JsonObject, reading: Reading): HistoryItem {
  const { tool_call_id: callId, name, content } = item
  const output = outputOf(content ?? '', reading)
  const result = { ...resultIds(callId, name), status: 'ok', output } as const
  return { kind: 'results', at: reading.at, results: [result] }
}
