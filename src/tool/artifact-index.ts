/**
 * Where artifacts are found without reading the journal (R13): a pure function from entries to rows, for a store to
 * derive. It does not know stores.
 */
import type { Entry, JsonObject } from '../protocol/index.ts'
import { type ArtifactChange, infoOf } from './artifact-change.ts'

/** Rows `a:<id>` hold what an artifact is after the entry; rows `c:<id>:<version>:<chunk>` say where its changes are. */
export const artifactIndex: {
  readonly index: string
  readonly rows: (entry: Entry) => readonly { readonly key: string; readonly value: JsonObject }[]
} = {
  index: 'artifact',
  rows: (entry) => {
    if (entry.type !== 'artifact') return []
    const change = entry.data as ArtifactChange
    const info = { key: artifactKey(change.artifactId), value: { ...infoOf(change), updatedAt: entry.at } }
    if (change.chunk === undefined) return [info]
    const key = `${changesPrefix(change.artifactId, change.version)}${digits(change.chunk)}`
    return [info, { key, value: { op: change.op, bytes: change.bytes } }]
  },
}

/** The row that says what an artifact is now; without an id, the prefix of all such rows. */
export function artifactKey(artifactId = ''): string {
  return `a:${artifactId}`
}

/** The prefix of the rows that lead to the changes of one version, in order. */
export function changesPrefix(artifactId: string, version: number): string {
  return `c:${artifactId}:${digits(version)}:`
}

function digits(value: number): string {
  return String(value).padStart(8, '0')
}
