/** Detects the format of a history: the one that fits every item. Items that fit several decide nothing. */
import { HoldfastError, type JsonObject, quote } from '../../protocol/index.ts'
import type { Format, ImportFormat } from './foreign.ts'
import { aiSdk } from './from-ai-sdk.ts'
import { anthropic } from './from-anthropic.ts'
import { google } from './from-google.ts'
import { holdfast } from './from-holdfast.ts'
import { langchain } from './from-langchain.ts'
import { openai } from './from-openai.ts'
import { openaiResponses } from './from-openai-responses.ts'
import { objectsIn } from './pieces.ts'

/** Of several that fit, the first: they read the same then. */
const FORMATS: readonly Format[] = [aiSdk, openai, anthropic, openaiResponses, google, langchain, holdfast]

/** Throws `invalid-option` for an unknown name, and for the first item that does not fit. */
export function detectFormat(items: readonly JsonObject[], requested: ImportFormat | undefined): Format {
  if (requested === undefined) return recognised(items)
  const format = FORMATS.find(({ name }) => name === requested)
  if (format === undefined) {
    const names = FORMATS.map(({ name }) => name).join(', ')
    throw invalidHistory(
      `There is no format ${quote(requested)}. Pass one of ${names}, or leave format out to detect it.`,
    )
  }
  const wrong = items.findIndex((item) => !format.fits(item))
  if (wrong >= 0) throw wrongMessage(wrong, `is not of the format ${requested}. Pass ${format.expected}`)
  return format
}

function recognised(items: readonly JsonObject[]): Format {
  let left = FORMATS
  for (const [index, item] of items.entries()) {
    const fitting = FORMATS.filter((format) => format.fits(item) && mayBe(item, format.name))
    if (fitting.length === 0) {
      const known = FORMATS.map(({ name, expected }) => `${name}: ${expected}`).join('; ')
      throw wrongMessage(index, `is of no known format. Pass one of these. ${known}`)
    }
    const both = left.filter((format) => fitting.includes(format))
    if (both.length === 0)
      throw wrongMessage(
        index,
        `is of the format ${namesOf(fitting)}, and the messages before it are of ${namesOf(left)}. Convert them to one format first, or pass \`format\``,
      )
    left = both
  }
  return left[0] ?? holdfast
}

function namesOf(formats: readonly Format[]): string {
  return formats.map(({ name }) => name).join(' or ')
}

function mayBe(item: JsonObject, format: ImportFormat): boolean {
  const { content, parts, tool_calls: calls, function_call: single, model, by } = item
  if (by === 'program' && format !== 'holdfast') return false
  if (single !== undefined && format !== 'openai') return false
  if (calls !== undefined && format !== 'openai' && format !== 'langchain') return false
  if (objectsIn(calls).some((call) => (format === 'openai') !== ('function' in call || 'custom' in call)))
    return false
  if (model !== undefined && format !== 'anthropic' && format !== 'holdfast' && format !== 'langchain')
    return false
  if (format === 'holdfast' && item['role'] === 'assistant' && !Array.isArray(content)) return false
  if (format === 'holdfast' && ('id' in item || 'name' in item)) return false
  if (item['tool_call_id'] !== undefined && format !== 'openai' && format !== 'langchain') return false
  return [...objectsIn(content), ...objectsIn(parts)].every((part) => votes(part)?.includes(format) ?? true)
}

/** The formats that have parts like this one; undefined if none or all do. */
function votes(part: JsonObject): readonly ImportFormat[] | undefined {
  const { type } = part
  if (typeof type !== 'string')
    return Object.keys(part).some((key) => GOOGLE.has(key)) ? ['google'] : undefined
  if ('callId' in part || 'provider' in part || part['by'] === 'program') return ['holdfast']
  if ('providerOptions' in part || 'providerMetadata' in part || 'toolCallId' in part) return ['ai-sdk']
  if (type === 'image') return 'image' in part ? ['ai-sdk'] : 'source' in part ? BLOCKS : ['langchain']
  if (type === 'file') return fileVotes(part)
  if (type.startsWith('data-') || type.startsWith('source-')) return ['ai-sdk']
  return Object.hasOwn(VOTES, type) ? VOTES[type] : undefined
}

function fileVotes(part: JsonObject): readonly ImportFormat[] {
  if ('file' in part) return ['openai', 'langchain']
  if ('mime_type' in part) return ['langchain']
  if ('name' in part) return ['holdfast']
  return 'filename' in part || 'url' in part ? ['ai-sdk', 'langchain'] : ['ai-sdk', 'langchain', 'holdfast']
}

const BLOCKS: readonly ImportFormat[] = ['anthropic', 'langchain']
const CHAT: readonly ImportFormat[] = ['openai', 'langchain']
const RESPONSES: readonly ImportFormat[] = ['openai-responses']
const OURS: readonly ImportFormat[] = ['ai-sdk', 'holdfast']

const VOTES: Readonly<Record<string, readonly ImportFormat[]>> = {
  text: ['ai-sdk', 'openai', 'anthropic', 'langchain', 'holdfast'],
  reasoning: ['ai-sdk', 'langchain', 'holdfast'],
  'tool-call': OURS,
  'tool-result': OURS,
  'redacted-reasoning': ['ai-sdk'],
  'dynamic-tool': ['ai-sdk'],
  'step-start': ['ai-sdk'],
  'tool-invocation': ['ai-sdk'],
  tool_use: BLOCKS,
  tool_result: BLOCKS,
  thinking: BLOCKS,
  redacted_thinking: BLOCKS,
  document: BLOCKS,
  tool_call: ['langchain'],
  image_url: CHAT,
  input_audio: CHAT,
  refusal: ['openai', 'openai-responses'],
  input_text: RESPONSES,
  output_text: RESPONSES,
  input_image: RESPONSES,
  input_file: RESPONSES,
}

const GOOGLE: ReadonlySet<string> = new Set([
  ...['text', 'thought', 'inlineData', 'fileData', 'functionCall', 'functionResponse', 'thoughtSignature'],
  ...['inline_data', 'file_data', 'function_call', 'function_response', 'thought_signature'],
])

export function wrongMessage(at: number, why: string): HoldfastError {
  return invalidHistory(`Message ${at} of the history ${why}. Nothing was imported.`, { at })
}

export function invalidHistory(message: string, details: JsonObject = {}): HoldfastError {
  return new HoldfastError('invalid-option', { message, details })
}
