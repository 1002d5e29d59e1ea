/** One change of an artifact, and what the artifact is after it. Pure: it knows neither stores nor order. */
import type { ArtifactData, JsonObject } from '../protocol/index.ts'

/**
 * One change. The first of a version is a `write`, as chunk 1 with its content, or as chunk 0 and without; then come
 * `append`s, and `complete` as one chunk more without content. `delete` is no chunk. Each says what the version is after
 * it, so that the newest change alone tells what the artifact is.
 */
export type ArtifactChange = ArtifactData & {
  /** How many chunks with content the version has after this change. */
  readonly chunks: number
  /** How many bytes they have. */
  readonly totalBytes: number
  /** Nothing can be appended any more. */
  readonly complete: boolean
}

/** What an artifact is. `chunks` and `bytes` are those of this version. */
export type ArtifactInfo = {
  readonly artifactId: string
  readonly kind: ArtifactData['kind']
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

export function infoOf(change: ArtifactChange): ArtifactInfo {
  const { artifactId, kind, version, chunks, totalBytes, complete, op, name, mediaType, schema } = change
  return {
    artifactId,
    kind,
    version,
    chunks,
    bytes: totalBytes,
    complete,
    ...(op === 'delete' ? { deleted: true } : {}),
    ...(name === undefined ? {} : { name }),
    ...(mediaType === undefined ? {} : { mediaType }),
    ...(schema === undefined ? {} : { schema }),
  }
}
