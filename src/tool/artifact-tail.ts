/** The end of a file under append: a secret may be split over two chunks. */
import type { ArtifactChange, ArtifactInfo } from '../protocol/index.ts'
import { joined, secretInBytes } from './artifact-content.ts'
import { NO_SECRETS, type Redactor } from './redact.ts'

/** The end of a version as given; if another process wrote it, as stored. */
export interface Tail {
  readonly version: number
  /** The number of chunks that it is the end of. */
  readonly chunks: number
  readonly content: string | Uint8Array
}

interface Appending {
  readonly port: StoredChunks
  /** By artifact id. */
  readonly tails: ReadonlyMap<string, Tail>
  readonly secrets?: Redactor
}

interface StoredChunks {
  chunks(artifactId: string, version: number): Promise<readonly ArtifactChange[]>
  getBlob(hash: string): Promise<Uint8Array | undefined>
}

/** A chunk as it may be stored, and the end of the file once it is stored; absent without secrets to look for. */
interface SafeChunk {
  readonly kept: string | Uint8Array
  readonly tail?: Tail
}

/**
 * Redacts a chunk at both ends: the rest of a secret that began in an earlier chunk, and 8 or more characters at the end
 * that may begin one. Each chunk becomes durable by itself, so none can wait for the next. Bytes with either are refused.
 */
export async function withoutSplitSecret(
  { port, tails, secrets = NO_SECRETS }: Appending,
  info: ArtifactInfo,
  chunk: string | Uint8Array,
): Promise<SafeChunk> {
  const { artifactId, version, chunks } = info
  if (secrets.isEmpty) return { kept: chunk }
  const last = tails.get(artifactId)
  const isCurrent = last?.version === version && last.chunks === chunks
  const before = isCurrent ? last.content : await storedEnd(port, info, secrets.longest)
  if (typeof chunk !== 'string' && secrets.isInAdded(Buffer.from(before), chunk)) throw secretInBytes()
  const tail = { version, chunks: chunks + 1, content: endOf(before, chunk, secrets.longest) }
  return { kept: typeof chunk === 'string' ? secrets.added(textOf(before), chunk) : chunk, tail }
}

function endOf(before: Tail['content'], chunk: Tail['content'], length: number): Tail['content'] {
  return typeof before === 'string' && typeof chunk === 'string'
    ? (before + chunk).slice(-length)
    : Buffer.concat([Buffer.from(before), Buffer.from(chunk)]).subarray(-length)
}

async function storedEnd(
  port: StoredChunks,
  { artifactId, version, chunks }: ArtifactInfo,
  length: number,
): Promise<string | Uint8Array> {
  if (chunks === 0) return ''
  const changes = await port.chunks(artifactId, version)
  let bytes = 0
  const first = changes.findLastIndex((change) => {
    bytes += change.bytes
    return bytes >= length
  })
  return (await joined(changes.slice(Math.max(0, first)), port.getBlob.bind(port))) as string | Uint8Array
}

function textOf(content: string | Uint8Array): string {
  return typeof content === 'string' ? content : Buffer.from(content).toString()
}
