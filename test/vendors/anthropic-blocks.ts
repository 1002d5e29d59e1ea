/** The content of one message as Anthropic takes it, block by block. It does not see the message before or after. */
import { isBase64 } from './files.ts'
import { type Complain, type Fields, fieldsOf, isBlank, isFields, isText, listOf, shown } from './reading.ts'

export interface Place {
  readonly at: number
  readonly role: 'user' | 'assistant'
  readonly isLast: boolean
}

const CALL_ID = /^[a-zA-Z0-9_-]+$/
export const TOOL_NAME: RegExp = /^[a-zA-Z0-9_-]{1,128}$/
const PLAIN: ReadonlySet<unknown> = new Set(['search_result', 'container_upload'])
const IMAGES: ReadonlySet<unknown> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

/** Its blocks, once each has been looked at. */
export function anthropicContent(content: unknown, place: Place, complain: Complain): readonly Fields[] {
  const { at, role, isLast } = place
  const blocks: readonly unknown[] = isText(content)
    ? content === ''
      ? []
      : [{ type: 'text', text: content }]
    : listOf(content)
  if (!isText(content) && !Array.isArray(content))
    complain(`messages.${at}.content: Input should be a valid string or a list of blocks`)
  else if (blocks.length === 0 && !(isLast && role === 'assistant'))
    complain(
      `messages.${at}: all messages must have non-empty content except for the optional final assistant message`,
    )
  blocks.forEach((block, index) =>
    checkBlock(block, { ...place, path: `messages.${at}.content.${index}` }, complain),
  )
  const last = fieldsOf(blocks.at(-1))
  if (isLast && role === 'assistant' && isText(last['text']) && /\s$/.test(last['text']))
    complain('messages: final assistant content cannot end with trailing whitespace')
  return blocks.map(fieldsOf)
}

export function isThinking({ type }: Fields): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}

interface BlockPlace extends Place {
  readonly path: string
}

function checkBlock(block: unknown, place: BlockPlace, complain: Complain): void {
  const fields = fieldsOf(block)
  const { type } = fields
  const check = CHECKS.get(type)
  if (check !== undefined) check(fields, place, complain)
  else if (!PLAIN.has(type) && !isServerBlock(type))
    complain(
      `${place.path}: Input tag '${shown(type)}' found using 'type' does not match any of the expected tags`,
    )
}

/** Blocks of the tools that Anthropic itself runs. */
function isServerBlock(type: unknown): boolean {
  return (
    isText(type) && (type === 'server_tool_use' || type === 'mcp_tool_use' || type.endsWith('_tool_result'))
  )
}

type Check = (block: Fields, place: BlockPlace, complain: Complain) => void

function checkImage({ source }: Fields, { path }: Pick<BlockPlace, 'path'>, complain: Complain): void {
  const { type, media_type: mediaType, data } = fieldsOf(source)
  const place = `${path}.image.source`
  if (!isFields(source)) complain(`${place}: Field required`)
  if (type !== 'base64') return
  if (!IMAGES.has(mediaType))
    complain(
      `${place}.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`,
    )
  else if (!isBase64(data)) complain(`${place}.base64: invalid base64 data`)
}

function checkDocument({ source }: Fields, { path }: Pick<BlockPlace, 'path'>, complain: Complain): void {
  const { type, media_type: mediaType, data } = fieldsOf(source)
  const place = `${path}.document.source`
  if (!isFields(source)) complain(`${place}: Field required`)
  if (type === 'text' && (!isText(data) || data === '')) complain(`${place}.text.data: Field required`)
  if (type !== 'base64') return
  if (mediaType !== 'application/pdf')
    complain(`${place}.base64.media_type: Input should be 'application/pdf'`)
  else if (!isBase64(data)) complain(`${place}.base64.data: The PDF specified was not valid.`)
}

const CHECKS: ReadonlyMap<unknown, Check> = new Map<unknown, Check>(
  Object.entries({
    image: checkImage,
    document: checkDocument,
    text: ({ text }, { path }, complain) => {
      if (!isText(text)) complain(`${path}.text.text: Field required`)
      else if (text === '') complain('messages: text content blocks must be non-empty')
      else if (isBlank(text)) complain('messages: text content blocks must contain non-whitespace text')
    },
    thinking: ({ thinking, signature }, { path, role }, complain) => {
      if (role !== 'assistant') complain(`${path}: \`thinking\` blocks can only be in \`assistant\` messages`)
      if (!isText(thinking)) complain(`${path}.thinking.thinking: Field required`)
      if (!isText(signature) || signature === '') complain(`${path}.thinking.signature: Field required`)
    },
    redacted_thinking: ({ data }, { path, role }, complain) => {
      if (role !== 'assistant')
        complain(`${path}: \`redacted_thinking\` blocks can only be in \`assistant\` messages`)
      if (!isText(data) || data === '') complain(`${path}.redacted_thinking.data: Field required`)
    },
    tool_use: ({ id, name, input }, { path, role }, complain) => {
      if (role !== 'assistant') complain(`${path}: \`tool_use\` blocks can only be in \`assistant\` messages`)
      if (!isText(id) || !CALL_ID.test(id))
        complain(`${path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`)
      if (!isText(name) || !TOOL_NAME.test(name))
        complain(`${path}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`)
      if (!isFields(input)) complain(`${path}.tool_use.input: Input should be a valid dictionary`)
    },
    tool_result: (block, { path, role }, complain) => {
      if (role !== 'user') complain(`${path}: \`tool_result\` blocks can only be in \`user\` messages`)
      const { content, is_error: isError } = block
      const isEmpty =
        content === undefined || content === '' || (Array.isArray(content) && content.length === 0)
      if (isError === true && isEmpty)
        complain(`${path}.tool_result: content cannot be empty if \`is_error\` is true`)
      if (content !== undefined && !isText(content) && !Array.isArray(content))
        complain(`${path}.tool_result.content: Input should be a valid string or a list of blocks`)
      for (const part of listOf(content)) {
        const { type, text } = fieldsOf(part)
        if (type === 'image') checkImage(fieldsOf(part), { path: `${path}.tool_result.content` }, complain)
        if (type === 'text' && (!isText(text) || isBlank(text)))
          complain('messages: text content blocks must be non-empty')
      }
    },
  } satisfies Readonly<Record<string, Check>>),
)
