/**
 * Artifacts: files, data and datasets of a conversation, in versions and chunks. Each change is one entry; storing and
 * finding entries is up to the port.
 */
import {
  type ArtifactChange,
  type ArtifactInfo,
  artifactInfo,
  checkOptions,
  defined,
  HoldfastError,
  isObject,
  type Json,
  type JsonObject,
  type OptionSet,
  quote,
} from '../protocol/index.ts'
import {
  type ArtifactValue,
  bytesOf,
  checkArtifactId,
  checkFileContent,
  checkFits,
  checkKeeps,
  checkNewId,
  joined,
  jsonOf,
} from './artifact-content.ts'
import { type Tail, withoutSplitSecret } from './artifact-tail.ts'
import { type KeyedQueue, keyedQueue } from './keyed-queue.ts'
import { NO_SECRETS, type Redactor } from './redact.ts'

/** Implemented by the owner of the journal. */
export interface ArtifactPort {
  /** The artifact after its newest change. */
  find(artifactId: string): Promise<ArtifactInfo | undefined>
  /** All artifacts by id, deleted ones included. */
  list(): Promise<readonly ArtifactInfo[]>
  /** The changes of one version, in order; none if the version does not exist. */
  chunks(artifactId: string, version: number): Promise<readonly ArtifactChange[]>
  /** Durable, and visible to `find`, when it resolves. `refs` are the blobs that the change names. */
  record(change: ArtifactChange, refs?: readonly string[]): Promise<void>
  putBlob(bytes: Uint8Array): Promise<string>
  getBlob(hash: string): Promise<Uint8Array | undefined>
}

/**
 * Operations on one artifact run in the order of the calls, on different ones side by side; a failure does not block the
 * next. A complete version never changes; writing again makes the next version. All methods reject with a `HoldfastError`
 * and write nothing on failure.
 */
export interface Artifacts {
  /** Writes a new, complete version of a file. */
  writeFile(id: string, content: string | Uint8Array, options?: FileOptions): Promise<ArtifactInfo>
  /** Creates a new, empty version of a file, to be filled by `appendFile` and closed by `complete`. */
  createFile(id: string, options?: FileOptions): Promise<ArtifactInfo>
  appendFile(id: string, chunk: string | Uint8Array): Promise<ArtifactInfo>
  /** Writes a new, complete version of a value. */
  writeData(id: string, value: Json, options?: DatasetOptions): Promise<ArtifactInfo>
  /** Creates a new, empty version of a list of rows. With a JSON Schema, every row must fit. */
  createDataset(id: string, options?: DatasetOptions): Promise<ArtifactInfo>
  appendRows(id: string, rows: readonly JsonObject[]): Promise<ArtifactInfo>
  complete(id: string): Promise<ArtifactInfo>
  /** A file as text, or as bytes if any part was given as bytes; a value; or the rows of a dataset. */
  read(id: string, options?: { readonly version?: number }): Promise<ArtifactContent>
  /** All that are not deleted. */
  list(): Promise<readonly ArtifactInfo[]>
  /** Makes the artifact unreadable; its entries stay in the journal. Writing again makes the next version. */
  delete(id: string): Promise<ArtifactInfo>
}

/** The artifacts of one conversation. Create one per conversation: it keeps the order among all callers. */
export interface ConversationArtifacts extends Artifacts {
  /** The same artifacts for one call: changes carry its id, and its secrets are redacted from texts and values (R19). */
  by(caller: ArtifactCaller): Artifacts
}

export interface FileOptions {
  readonly name?: string
  readonly mediaType?: string
}

export interface DatasetOptions {
  readonly name?: string
  /** JSON Schema of the value, or of one row. */
  readonly schema?: JsonObject
}

export interface ArtifactContent {
  readonly info: ArtifactInfo
  readonly content: ArtifactValue
}

export function artifacts(port: ArtifactPort): ConversationArtifacts {
  const shared = { port, queue: keyedQueue(), tails: new Map<string, Tail>() }
  const by = (caller: ArtifactCaller): Artifacts => artifactsOf({ ...shared, ...caller })
  return { ...by({}), by }
}

export interface ArtifactCaller {
  readonly callId?: string
  readonly secrets?: Redactor
  /** Called right before a change is stored: throws if the caller may store nothing more. */
  readonly check?: () => void
}

interface CallArtifacts extends ArtifactCaller {
  readonly port: ArtifactPort
  readonly queue: KeyedQueue
  /** Of files under append, by id. */
  readonly tails: Map<string, Tail>
}

type Kind = ArtifactChange['kind']

const FILE: Omit<OptionSet<FileOptions>, 'place'> = {
  options: { name: 'a text', mediaType: 'a text' },
  foreign: { mimeType: 'mediaType', contentType: 'mediaType' },
}
const DATA: Omit<OptionSet<DatasetOptions>, 'place'> = { options: { name: 'a text', schema: 'an object' } }
const READ: OptionSet<{ readonly version?: number }> = { place: 'read()', options: { version: 'a number' } }

function artifactsOf(call: CallArtifacts): Artifacts {
  const write = (id: string, version: NewVersion): Promise<ArtifactInfo> =>
    enqueue(call, id, () => writeVersion(call, id, version))
  const append = (id: string, kind: Kind, content: Content): Promise<ArtifactInfo> =>
    enqueue(call, id, () => appendChunk(call, { id, kind, content }))
  return {
    writeFile: async (id, content, options = {}) => {
      checkOptions(options, { place: 'writeFile()', ...FILE })
      checkFileContent('writeFile()', content)
      return write(id, { kind: 'file', content, options })
    },
    createFile: async (id, options = {}) => {
      checkOptions(options, { place: 'createFile()', ...FILE })
      return write(id, { kind: 'file', options })
    },
    appendFile: async (id, chunk) => {
      checkFileContent('appendFile()', chunk)
      return append(id, 'file', chunk)
    },
    writeData: async (id, value, options = {}) => {
      checkOptions(options, { place: 'writeData()', ...DATA })
      return write(id, { kind: 'data', content: { json: value }, options })
    },
    createDataset: async (id, options = {}) => {
      checkOptions(options, { place: 'createDataset()', ...DATA })
      return write(id, { kind: 'dataset', options })
    },
    appendRows: (id, rows) => append(id, 'dataset', { json: rows }),
    complete: (id) => enqueue(call, id, () => closeVersion(call, id, 'complete')),
    read: async (id, options = {}) => {
      checkOptions(options, READ)
      return enqueue(call, id, () => contentOf(call.port, id, options.version))
    },
    list: async () => (await call.port.list()).filter(({ deleted }) => !deleted),
    delete: (id) => enqueue(call, id, () => closeVersion(call, id, 'delete')),
  }
}

async function enqueue<T>(
  { queue, secrets = NO_SECRETS }: CallArtifacts,
  id: string,
  work: () => Promise<T>,
): Promise<T> {
  checkArtifactId(id)
  checkKeeps(id, secrets)
  return queue.run(id, work)
}

/** Text, bytes, or a value in an envelope: a value may itself be a text. */
type Content = string | Uint8Array | { readonly json: Json }

interface NewVersion {
  readonly kind: Kind
  /** Without it the version is open. */
  readonly content?: Content
  readonly options: FileOptions & DatasetOptions
}

async function writeVersion(
  call: CallArtifacts,
  id: string,
  { kind, content, options }: NewVersion,
): Promise<ArtifactInfo> {
  checkNewId(id)
  const before = await call.port.find(id)
  if (before !== undefined && !before.deleted && before.kind !== kind) throw wrongKind(before, kind)
  const { name, mediaType, schema } = options
  const metadata = {
    ...defined({ name, mediaType }),
    ...(schema === undefined ? {} : { schema: jsonOf(schema, 'The schema') as JsonObject }),
  }
  const base = {
    artifactId: id,
    kind,
    op: 'write' as const,
    version: (before?.version ?? 0) + 1,
    ...(call.secrets ?? NO_SECRETS).json(metadata),
  }
  if (schema !== undefined) await checkFits(id, schema, kind === 'data' ? contentRows(content) : [])
  if (content instanceof Uint8Array) checkKeeps(content, call.secrets ?? NO_SECRETS)
  call.tails.delete(id)
  const chunk = content === undefined ? NOTHING : await storeContent(call, content)
  const chunks = content === undefined ? 0 : 1
  const size = { chunk: chunks, chunks, totalBytes: chunk.bytes }
  return record(call, { ...base, ...chunk, ...size, complete: content !== undefined }, content)
}

function contentRows(content: Content | undefined): readonly Json[] {
  return content !== undefined && isValue(content) ? [content.json] : []
}

function isValue(content: Content): content is { readonly json: Json } {
  return typeof content === 'object' && 'json' in content
}

interface NewChunk {
  readonly id: string
  readonly kind: Kind
  readonly content: Content
}

async function appendChunk(call: CallArtifacts, { id, kind, content }: NewChunk): Promise<ArtifactInfo> {
  const before = await existing(call.port, id)
  if (before.kind !== kind) throw wrongKind(before, kind)
  if (before.complete) {
    throw new HoldfastError('invalid-option', {
      message: `Version ${before.version} of artifact ${quote(id)} is complete, so nothing can be appended. Begin a new version.`,
      details: { artifactId: id, version: before.version },
    })
  }
  if (kind === 'dataset') await checkRows(before, contentRows(content)[0])
  if (isNothing(content)) return before
  const { kept, tail } = isValue(content)
    ? { kept: content }
    : await withoutSplitSecret(call, before, content)
  const chunk = await storeContent(call, kept)
  const chunks = before.chunks + 1
  const size = { chunk: chunks, chunks, totalBytes: before.bytes + chunk.bytes }
  const after = await record(call, { ...changeOf(before), ...chunk, ...size, op: 'append' }, kept)
  // Not before: a chunk that could not be stored is not the end of the file.
  if (tail !== undefined) call.tails.set(id, tail)
  return after
}

async function checkRows({ artifactId, schema }: ArtifactInfo, rows: Json | undefined): Promise<void> {
  if (!Array.isArray(rows) || !rows.every((row) => isObject(row))) {
    throw new HoldfastError('invalid-option', {
      message: `The rows of artifact ${quote(artifactId)} must be a list of objects. Nothing was written.`,
      details: { artifactId },
    })
  }
  if (schema !== undefined) await checkFits(artifactId, schema, rows as readonly Json[])
}

function isNothing(content: Content): boolean {
  if (isValue(content)) return (content.json as readonly Json[]).length === 0
  return content.length === 0
}

async function closeVersion(
  call: CallArtifacts,
  id: string,
  op: 'complete' | 'delete',
): Promise<ArtifactInfo> {
  const before = await existing(call.port, id)
  if (op === 'complete' && before.complete) return before
  call.tails.delete(id)
  const change = { ...changeOf(before), op, bytes: 0, complete: before.complete || op === 'complete' }
  return record(call, op === 'complete' ? { ...change, chunk: before.chunks + 1 } : change)
}

async function contentOf(port: ArtifactPort, id: string, requested?: number): Promise<ArtifactContent> {
  const now = await existing(port, id)
  const version = requested ?? now.version
  const changes = await port.chunks(id, version)
  const last = changes.at(-1)
  if (last === undefined) {
    throw new HoldfastError('not-found', {
      message: `Artifact ${quote(id)} has no version ${version}. Its newest is ${now.version}.`,
      details: { artifactId: id, version },
    })
  }
  const info = version === now.version ? now : artifactInfo(last)
  return { info, content: await joined(changes, port.getBlob.bind(port)) }
}

async function existing(port: ArtifactPort, id: string): Promise<ArtifactInfo> {
  const info = await port.find(id)
  if (info !== undefined && !info.deleted) return info
  throw new HoldfastError('not-found', {
    message: info?.deleted
      ? `Artifact ${quote(id)} was deleted. Write or create it again first.`
      : `There is no artifact ${quote(id)}. Write or create it first.`,
    details: { artifactId: id },
  })
}

/** The fields of a version that its later changes repeat, so that its row can be derived from the last change alone. */
function changeOf(info: ArtifactInfo): Omit<ArtifactChange, 'op' | 'bytes' | 'chunk'> {
  const { artifactId, kind, version, chunks, complete, name, mediaType, schema } = info
  return {
    artifactId,
    kind,
    version,
    chunks,
    totalBytes: info.bytes,
    complete,
    ...defined({ name, mediaType, schema }),
  }
}

interface StoredChunk {
  readonly bytes: number
  readonly content?: Json
  readonly blob?: string
}

const NOTHING: StoredChunk = { bytes: 0 }

async function storeContent(
  { port, secrets = NO_SECRETS }: CallArtifacts,
  content: Content,
): Promise<StoredChunk> {
  if (content instanceof Uint8Array)
    return content.length === 0
      ? { bytes: 0, content: '' }
      : { bytes: content.length, blob: await port.putBlob(content) }
  const json = secrets.json(typeof content === 'string' ? content : jsonOf(content.json, 'The content'))
  return { bytes: bytesOf(json, typeof content === 'string'), content: json }
}

const MOST_PUTS = 5

/** Bytes that another conversation shares may be erased with it before this change names them: then they are put again. */
async function record(
  { port, callId, check }: CallArtifacts,
  change: ArtifactChange,
  content?: Content,
): Promise<ArtifactInfo> {
  const signed = callId === undefined ? change : { ...change, callId }
  const refs = change.blob === undefined ? [] : [change.blob]
  for (let attempt = 1; ; attempt++) {
    try {
      check?.()
      await port.record(signed, refs)
      return artifactInfo(signed)
    } catch (error) {
      const isMissing =
        HoldfastError.is(error, 'invalid-entry') && refs.some((hash) => hash === error.details['hash'])
      if (!isMissing || !(content instanceof Uint8Array) || attempt >= MOST_PUTS) throw error
      await port.putBlob(content)
    }
  }
}

const KIND_NAMES: Readonly<Record<Kind, string>> = { file: 'a file', data: 'data', dataset: 'a dataset' }

function wrongKind({ artifactId, kind }: ArtifactInfo, requested: Kind): HoldfastError {
  return new HoldfastError('invalid-option', {
    message: `Artifact ${quote(artifactId)} is ${KIND_NAMES[kind]}, not ${KIND_NAMES[requested]}. Use another id, or delete it first.`,
    details: { artifactId, kind },
  })
}
