/** Parts of messages and artifacts, between the protocol and the journal. */
import type { Artifact, Message, Part } from '@a2a-js/sdk'
import type { HostInput } from '../../host/index.ts'
import {
  type ArtifactChange,
  type FilePart,
  isObject,
  type Json,
  type JsonObject,
  type TextPart,
  type UserContent,
} from '../../protocol/index.ts'
import { badRequest } from '../problem.ts'

type Content = NonNullable<Part['content']>

function part(content: Content, more: { mediaType?: string; filename?: string } = {}): Part {
  return { content, metadata: undefined, filename: more.filename ?? '', mediaType: more.mediaType ?? '' }
}

export function textPart(text: string): Part {
  return part({ $case: 'text', value: text })
}

export function dataPart(value: Json): Part {
  return part({ $case: 'data', value }, { mediaType: 'application/json' })
}

/** A message as the host takes it: text and files for an agent, text for a flow, the values of data parts for a graph. */
export function inputOf(parts: readonly Part[], kind: 'agent' | 'flow' | 'graph'): HostInput {
  if (kind === 'graph') return valuesOf(parts)
  if (kind === 'flow') return flowText(parts)
  const content = parts.map(contentOf)
  const [first] = content
  return content.length === 1 && first?.type === 'text' && first.by === undefined ? first.text : content
}

function contentOf({ content, filename, mediaType }: Part): TextPart | FilePart {
  const file = { ...(filename === '' ? {} : { name: filename }) }
  switch (content?.$case) {
    case 'text':
      return { type: 'text', text: content.value }
    case 'data':
      // A program wrote it: ids in it are not the person's words.
      return { type: 'text', text: JSON.stringify(content.value ?? null), by: 'program' }
    case 'raw':
      return {
        type: 'file',
        mediaType: mediaType || 'application/octet-stream',
        ...file,
        data: Buffer.from(content.value).toString('base64'),
      }
    case 'url':
      if (!/^https?:\/\//i.test(content.value))
        throw badRequest('The url of a part must begin with https://.')
      return {
        type: 'file',
        mediaType: mediaType || 'application/octet-stream',
        ...file,
        data: content.value,
      }
    case undefined:
    default:
      throw badRequest('A part of the message has no text, raw, url or data.')
  }
}

/** Flows take text alone; data is text for them, too. */
function flowText(parts: readonly Part[]): string {
  return parts
    .map(contentOf)
    .map((content) => {
      if (content.type === 'text') return content.text
      throw badRequest('This agent takes text and data, and no files.')
    })
    .join('\n')
}

function valuesOf(parts: readonly Part[]): JsonObject {
  const values = parts.flatMap(({ content }) =>
    content?.$case === 'data' && isObject(content.value) ? [content.value] : [],
  )
  if (values.length === parts.length) return Object.assign({}, ...values) as JsonObject
  throw badRequest('This is a graph: send its values as a data part that is an object.')
}

/** The parts of a message that is in the journal. */
export function partsOf(content: UserContent): Part[] {
  if (typeof content === 'string') return [textPart(content)]
  return content.map((each) => {
    if (each.type === 'file') return filePart(each)
    return each.by === 'program' ? dataOrText(each.text) : textPart(each.text)
  })
}

function dataOrText(text: string): Part {
  try {
    return dataPart(JSON.parse(text) as Json)
  } catch {
    return textPart(text)
  }
}

function filePart({ data, mediaType, name }: FilePart): Part {
  const more = { mediaType, ...(name === undefined ? {} : { filename: name }) }
  if (/^https?:\/\//i.test(data)) return part({ $case: 'url', value: data }, more)
  return part({ $case: 'raw', value: Buffer.from(data, 'base64') }, more)
}

export function message(
  role: 'user' | 'agent',
  { parts, ...ids }: Pick<Message, 'messageId' | 'contextId' | 'taskId' | 'parts'>,
): Message {
  return {
    ...ids,
    role: role === 'user' ? 1 : 2,
    parts,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  }
}

export function artifact(artifactId: string, parts: Part[], more: { name?: string } = {}): Artifact {
  return {
    artifactId,
    name: more.name ?? artifactId,
    description: '',
    parts,
    metadata: undefined,
    extensions: [],
  }
}

/** The parts of one change of an artifact. A binary chunk is read by its hash, and always has a name: readers join chunks by it. */
export async function changeParts(
  { artifactId, kind, content, blob, mediaType, name }: ArtifactChange,
  readBlob: (hash: string) => Promise<Uint8Array | undefined>,
): Promise<Part[]> {
  const more = {
    ...(mediaType === undefined ? {} : { mediaType }),
    ...(name === undefined ? {} : { filename: name }),
  }
  if (blob !== undefined) {
    const bytes = await readBlob(blob)
    if (bytes === undefined) return []
    return [part({ $case: 'raw', value: Buffer.from(bytes) }, { filename: artifactId, ...more })]
  }
  if (content === undefined) return []
  if (kind === 'file' && typeof content === 'string') return [part({ $case: 'text', value: content }, more)]
  return [part({ $case: 'data', value: content }, { mediaType: 'application/json', ...more })]
}
