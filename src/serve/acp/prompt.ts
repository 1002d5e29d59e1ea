/** A prompt of an editor as the content of a message. Only the text is the person's own words. */
import { isAbsolute, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ContentBlock, EmbeddedResource } from '@agentclientprotocol/sdk'
import { type FilePart, HoldfastError, type TextPart } from '../../protocol/index.ts'

export interface PromptOptions {
  readonly cwd: string
  /** The model takes images. */
  readonly images: boolean
}

export function promptContent(
  blocks: readonly ContentBlock[],
  options: PromptOptions,
): readonly (TextPart | FilePart)[] {
  return blocks.map((block) => partOf(block, options))
}

function partOf(block: ContentBlock, { cwd, images }: PromptOptions): TextPart | FilePart {
  if (block.type === 'text') return { type: 'text', text: block.text }
  if (block.type === 'resource_link')
    return { type: 'text', text: `[${block.name}](${placeOf(block.uri, cwd)})`, by: 'program' }
  if (block.type === 'resource') return resourcePart(block, cwd)
  if (block.type === 'image' && images) return { type: 'file', mediaType: block.mimeType, data: block.data }
  const message = `This agent takes no ${block.type === 'image' ? 'images' : block.type}.`
  throw new HoldfastError('invalid-option', { message })
}

function resourcePart({ resource }: EmbeddedResource, cwd: string): TextPart | FilePart {
  const place = placeOf(resource.uri, cwd)
  if ('text' in resource)
    return {
      type: 'text',
      text: `<resource path="${place}">\n${resource.text}\n</resource>`,
      by: 'program',
    }
  const mediaType = resource.mimeType ?? 'application/octet-stream'
  return { type: 'file', mediaType, name: place, data: resource.blob }
}

/** The path from the folder of the session, as its tools take it; other addresses as they are. */
function placeOf(uri: string, cwd: string): string {
  if (!uri.startsWith('file:')) return uri
  try {
    const path = fileURLToPath(uri)
    const inside = relative(cwd, path)
    return inside.startsWith('..') || isAbsolute(inside) ? path : inside
  } catch {
    return uri
  }
}

export function promptText(content: readonly (TextPart | FilePart)[]): string {
  return content
    .map((part) => (part.type === 'text' ? part.text : `[${part.name ?? part.mediaType}]`))
    .join('\n')
}
