/**
 * The result of a server's tool as the output of ours: structured data or text as they are, large texts and everything
 * binary as artifacts. Knows nothing of connections.
 */
import type { Json, JsonObject } from '../protocol/index.ts'
import { type Artifacts, thrownText, toJson } from '../tool/index.ts'
import type { CallToolResult, ContentBlock } from './sdk.ts'

/** A longer text becomes an artifact, and the model reads its beginning. */
const LONGEST_TEXT = 64 * 1024
const BEGINNING = 2000
const LONGEST_DISPLAY = 2000
/** Each may be an artifact, and so a write to the store. */
const MOST_BLOCKS = 100

export interface ContentContext {
  readonly callId: string
  readonly artifacts: Artifacts
}

export interface ToolContent {
  readonly data: Json
  readonly display: string
}

/** Structured content if there is some, with the blocks that are no text beside it; else the text, or the blocks. */
export async function contentOf(
  { content, structuredContent }: Pick<CallToolResult, 'content' | 'structuredContent'>,
  context: ContentContext,
): Promise<ToolContent> {
  const writer = new ArtifactWriter(context)
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
  const display = texts.join('\n').slice(0, LONGEST_DISPLAY).toWellFormed()
  const isText = texts.length === content.length
  const beside = structuredContent === undefined ? content : content.filter(({ type }) => type !== 'text')
  const blocks = structuredContent === undefined && isText ? [] : await written(beside, writer)
  if (structuredContent !== undefined) {
    const structured = await dataOf(structuredContent, writer)
    return {
      data: blocks.length === 0 ? structured : { structuredContent: structured, content: blocks },
      display,
    }
  }
  return { data: isText ? await textOf(texts.join('\n'), writer) : blocks, display }
}

/** The contents of a resource, or the messages of a prompt. */
export function blocksOf(
  blocks: readonly ContentBlock[],
  context: ContentContext,
): Promise<readonly JsonObject[]> {
  return written(blocks, new ArtifactWriter(context))
}

/** The first blocks, and how many were left out. */
async function written(
  blocks: readonly ContentBlock[],
  writer: ArtifactWriter,
): Promise<readonly JsonObject[]> {
  const kept: JsonObject[] = []
  for (const block of blocks.slice(0, MOST_BLOCKS)) kept.push(await blockOf(block, writer))
  const more = blocks.length - kept.length
  if (more === 0) return kept
  const text = `${more} more parts of the result were left out: it has ${blocks.length}, and ${MOST_BLOCKS} are kept.`
  return [...kept, { type: 'text', text }]
}

async function blockOf(block: ContentBlock, writer: ArtifactWriter): Promise<JsonObject> {
  if (block.type === 'text') return { type: 'text', text: await textOf(block.text, writer) }
  if (block.type === 'image' || block.type === 'audio')
    return { type: block.type, ...(await writer.binary(block.data, block.mimeType)) }
  if (block.type === 'resource') {
    const { uri, mimeType } = block.resource
    const named = { type: 'resource', uri, ...(mimeType === undefined ? {} : { mimeType }) }
    return 'text' in block.resource
      ? { ...named, text: await textOf(block.resource.text, writer) }
      : { ...named, ...(await writer.binary(block.resource.blob, mimeType)) }
  }
  const json = toJson(block, { bytes: LONGEST_TEXT })
  return json instanceof Error ? { type: block.type, error: json.message } : (json as JsonObject)
}

async function textOf(text: string, writer: ArtifactWriter): Promise<Json> {
  if (Buffer.byteLength(text) <= LONGEST_TEXT) return text
  return {
    ...(await writer.text(text)),
    bytes: Buffer.byteLength(text),
    beginning: text.slice(0, BEGINNING).toWellFormed(),
  }
}

async function dataOf(value: unknown, writer: ArtifactWriter): Promise<Json> {
  const json = toJson(value)
  if (json instanceof Error) return { error: `The structured content cannot be used: ${json.message}.` }
  const text = JSON.stringify(json)
  if (Buffer.byteLength(text) <= LONGEST_TEXT) return json
  return {
    ...(await writer.data(json)),
    bytes: Buffer.byteLength(text),
    beginning: text.slice(0, BEGINNING).toWellFormed(),
  }
}

/** Names artifacts after their call. */
class ArtifactWriter {
  readonly #context: ContentContext
  #count = 0

  constructor(context: ContentContext) {
    this.#context = context
  }

  async text(content: string): Promise<JsonObject> {
    return this.#written((id) => this.#context.artifacts.writeFile(id, content, { mediaType: 'text/plain' }))
  }

  async data(value: Json): Promise<JsonObject> {
    return this.#written((id) => this.#context.artifacts.writeData(id, value))
  }

  async binary(base64: string, mediaType = 'application/octet-stream'): Promise<JsonObject> {
    const bytes = Buffer.from(base64, 'base64')
    const kept = await this.#written((id) => this.#context.artifacts.writeFile(id, bytes, { mediaType }))
    return { mediaType, bytes: bytes.length, ...kept }
  }

  /** A failure must not fail the call, which has happened. */
  async #written(write: (id: string) => Promise<unknown>): Promise<JsonObject> {
    this.#count += 1
    const id = `mcp-${this.#context.callId.replaceAll(/[^\w.-]/g, '_')}-${this.#count}`
    try {
      await write(id)
      return { artifact: id }
    } catch (error) {
      return { error: `It could not be kept: ${thrownText(error)}` }
    }
  }
}
