/** Fakes for tests of tools: a context, and artifacts in memory. They know no journal. */
import { createHash } from 'node:crypto'
import {
  type ArtifactChange,
  type ArtifactInfo,
  checkName,
  type Entry,
  type JsonObject,
} from '../protocol/index.ts'
import { artifactChanges, artifactKey, changesPrefix } from '../store/index.ts'
import { type ArtifactPort, artifacts, type ToolContext } from '../tool/index.ts'

/** A context like that of a real call, with the overrides of a test. */
export function fakeToolContext(different: Partial<ToolContext> = {}): ToolContext {
  const usual: ToolContext = {
    contextId: 'conversation',
    callId: 'call_1',
    turn: 1,
    iteration: 1,
    principal: { tenant: 'local', actor: 'local' },
    credentials: {},
    idempotencyKey: 'key_1',
    argumentsKey: 'arguments_1',
    signal: new AbortController().signal,
    artifacts: artifacts(memoryArtifacts()),
    task: 'Do it',
    previousTools: [],
    metadata: {},
    answers: {},
    reasons: {},
    progress: () => {},
  }
  for (const name of Object.keys(different)) checkName('fakeToolContext()', name, Object.keys(usual))
  return { ...usual, ...different }
}

/** A port that keeps everything in arrays, with the index of a store. */
export interface MemoryArtifacts extends ArtifactPort {
  readonly entries: readonly Entry[]
  readonly refs: readonly (readonly string[])[]
  readonly rows: ReadonlyMap<string, { readonly seq: number; readonly value: JsonObject }>
  readonly blobs: Map<string, Uint8Array>
}

export function memoryArtifacts(): MemoryArtifacts {
  const entries: Entry[] = []
  const refs: (readonly string[])[] = []
  const rows = new Map<string, { readonly seq: number; readonly value: JsonObject }>()
  const blobs = new Map<string, Uint8Array>()
  const withPrefix = (prefix: string) =>
    [...rows].filter(([key]) => key.startsWith(prefix)).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return {
    entries,
    refs,
    rows,
    blobs,
    find: (id) => Promise.resolve(rows.get(artifactKey(id))?.value as ArtifactInfo | undefined),
    list: () => Promise.resolve(withPrefix(artifactKey()).map(([, { value }]) => value as ArtifactInfo)),
    chunks: (id, version) =>
      Promise.resolve(
        withPrefix(changesPrefix(id, version)).map(([, { seq }]) => entries[seq - 1]?.data as ArtifactChange),
      ),
    record: (change, named = []) => {
      const seq = entries.length + 1
      const data = JSON.parse(JSON.stringify(change)) as ArtifactChange
      const entry: Entry = { seq, turn: 1, at: 1000 + seq, type: 'artifact', v: 1, data }
      entries.push(entry)
      refs.push(named)
      for (const { key, value } of artifactChanges.rows(entry)) rows.set(key, { seq, value })
      return Promise.resolve()
    },
    putBlob: (bytes) => {
      const hash = createHash('sha256').update(bytes).digest('hex')
      blobs.set(hash, bytes)
      return Promise.resolve(hash)
    },
    getBlob: (hash) => Promise.resolve(blobs.get(hash)),
  }
}
