/** Artifacts as entries: a sequence of changes, each with the artifact's state after it. */
import { defined } from './defined.ts'
import type { Json, JsonObject } from './json.ts'

/**
 * The first change of a version is a `write`: chunk 1 with its content, or chunk 0 and without. Then come `append`s, and
 * `complete` as one chunk more without content. `delete` is no chunk. The content of a version is its chunks, in order.
 */
export type ArtifactChange = {
  readonly artifactId: string
  readonly kind: 'file' | 'data' | 'dataset'
  readonly op: 'write' | 'append' | 'complete' | 'delete'
  readonly version: number
  readonly chunk?: number
  /** Text of a file; value of data; rows of a dataset. */
  readonly content?: Json
  /** Hash of the blob that holds the bytes of a binary chunk. */
  readonly blob?: string
  readonly bytes: number
  readonly name?: string
  readonly mediaType?: string
  readonly schema?: JsonObject
  readonly callId?: string
  /** Chunks with content, and bytes, of the version after this change. */
  readonly chunks: number
  readonly totalBytes: number
  /** The version accepts no more appends. */
  readonly complete: boolean
}

/** State of an artifact. `chunks` and `bytes` are those of this version. */
export type ArtifactInfo = {
  readonly artifactId: string
  readonly kind: ArtifactChange['kind']
  readonly version: number
  readonly chunks: number
  readonly bytes: number
  readonly complete: boolean
  readonly deleted?: true
  readonly name?: string
  readonly mediaType?: string
  readonly schema?: JsonObject
  readonly updatedAt?: number
}

export function artifactInfo(change: ArtifactChange): ArtifactInfo {
  const { artifactId, kind, version, chunks, totalBytes, complete, op, name, mediaType, schema } = change
  return {
    artifactId,
    kind,
    version,
    chunks,
    bytes: totalBytes,
    complete,
    ...(op === 'delete' ? { deleted: true } : {}),
    ...defined({ name, mediaType, schema }),
  }
}
