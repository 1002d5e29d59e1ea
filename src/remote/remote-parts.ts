/** Parts of messages and artifacts, as they are sent to a remote agent and as they come from one. */
import type { Artifact, Part } from '@a2a-js/sdk'
import { defined, type Json } from '../protocol/index.ts'
import type { RemoteFile, RemoteMessage } from './remote-message.ts'

type Content = NonNullable<Part['content']>

export function partsOf({ text, data, files = [] }: RemoteMessage): Part[] {
  return [
    ...(text === undefined ? [] : [part({ $case: 'text', value: text })]),
    ...(data === undefined ? [] : [part({ $case: 'data', value: data }, { mediaType: 'application/json' })]),
    ...files.map((file) => part(contentOf(file), file)),
  ]
}

function contentOf({ url, content = '' }: RemoteFile): Content {
  if (url !== undefined) return { $case: 'url', value: url }
  return { $case: 'raw', value: Buffer.from(content) }
}

function part(content: Content, { name = '', mediaType = '' }: RemoteFile = {}): Part {
  return { content, mediaType, filename: name, metadata: undefined }
}

/** The most that a task may give, in characters and bytes: what a journal takes as one entry. */
const MOST_RECEIVED = 32 * 1024 * 1024

/** A task that gives more than a caller keeps. Asking again does not help. */
export class TooMuchReceived extends Error {
  override readonly name = 'TooMuchReceived'

  constructor() {
    super(`It gave more than ${MOST_RECEIVED / 1024 / 1024} MB.`)
  }
}

/** The artifacts of a task as they arrive, in chunks or again. */
export class ReceivedArtifacts {
  readonly #parts = new Map<string, Part[]>()
  #size = 0

  clear(): void {
    this.#parts.clear()
    this.#size = 0
  }

  add({ artifactId, parts }: Artifact, isMore: boolean): void {
    const before = this.#parts.get(artifactId) ?? []
    this.#size += sizeOfAll(parts) - (isMore ? 0 : sizeOfAll(before))
    if (this.#size > MOST_RECEIVED) throw new TooMuchReceived()
    if (isMore) before.push(...parts)
    this.#parts.set(artifactId, isMore ? before : [...parts])
  }

  /** The text of each artifact that has some. */
  get texts(): readonly string[] {
    return [...this.#parts.values()].map(textOf).filter((text) => text !== '')
  }

  get data(): readonly Json[] {
    return [...this.#parts.values()].flatMap(dataOf)
  }

  get files(): readonly RemoteFile[] {
    return [...this.#parts.values()].flatMap(filesOf)
  }
}

function sizeOfAll(parts: readonly Part[]): number {
  return parts.reduce((size, each) => size + sizeOf(each), 0)
}

function sizeOf({ content }: Part): number {
  if (content?.$case === 'data') return JSON.stringify(content.value)?.length ?? 0
  return content?.value.length ?? 0
}

export function textOf(parts: readonly Part[]): string {
  return parts
    .map(({ content, filename }) => (content?.$case === 'text' && filename === '' ? content.value : ''))
    .join('')
}

export function dataOf(parts: readonly Part[]): Json[] {
  return parts.flatMap(({ content }) => (content?.$case === 'data' ? [content.value as Json] : []))
}

interface Chunks {
  readonly name: string
  readonly mediaType: string
  readonly bytes: Uint8Array[]
}

/**
 * The files of an artifact or a message. Chunks of one name are one file, and a part without a name is one by itself; a text
 * with a name is a file, too.
 */
export function filesOf(parts: readonly Part[]): RemoteFile[] {
  const links: RemoteFile[] = []
  /** By name, or by position. */
  const files = new Map<string | number, Chunks>()
  for (const [position, { content, filename, mediaType }] of parts.entries()) {
    if (content?.$case === 'url') links.push(fileOf({ name: filename, mediaType, url: content.value }))
    const isFile = content?.$case === 'raw' || (content?.$case === 'text' && filename !== '')
    if (!isFile) continue
    const file = files.get(filename) ?? { name: filename, mediaType, bytes: [] }
    files.set(filename || position, file)
    file.bytes.push(Buffer.from(content.value as string | Uint8Array))
  }
  const whole = [...files.values()].map(({ bytes, ...file }) =>
    fileOf({ ...file, content: Buffer.concat(bytes) }),
  )
  return [...whole, ...links]
}

function fileOf({ name, mediaType, ...file }: RemoteFile): RemoteFile {
  return { ...file, ...defined({ name: name || undefined, mediaType: mediaType || undefined }) }
}
