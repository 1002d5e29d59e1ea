/** The content of an artifact: checks its id and content, and joins its chunks. Writes nothing. */
import {
  type ArtifactChange,
  HoldfastError,
  invalidOption,
  type Json,
  type JsonObject,
  quote,
  shown,
} from '../protocol/index.ts'
import { schemaCheck } from './json-schema.ts'
import type { Redactor } from './redact.ts'
import { issueLines } from './standard-schema.ts'
import { thrownText } from './thrown.ts'
import { JsonProblem, jsonBytes, toJson } from './to-json.ts'

export type ArtifactValue = string | Uint8Array | Json

const ID = /^[\p{L}\p{M}\p{N}._@+=~|-]+$/u
const MAX_ID_BYTES = 512

export function checkArtifactId(id: string): void {
  const isName = typeof id === 'string' && ID.test(id) && id !== '.' && id !== '..'
  if (isName && id.normalize('NFC') === id && Buffer.byteLength(id) <= MAX_ID_BYTES) return
  throw new HoldfastError('invalid-key', {
    message: `Invalid artifact id ${quote(id)}. Use letters, digits and . _ @ + = ~ | - only, in Unicode NFC, at most ${MAX_ID_BYTES} bytes.`,
    details: { field: 'artifactId' },
  })
}

/** Refuses a name of the runtime. One that an older version wrote can be read, completed and deleted. */
export function checkNewId(id: string): void {
  if (!id.startsWith('~')) return
  throw new HoldfastError('invalid-key', {
    message: `Artifact ${quote(id)} cannot be written: ids that begin with "~" are the runtime's own. Use another id. Nothing was written.`,
    details: { field: 'artifactId' },
  })
}

/** Refuses what is no content of a file, and would be stored as null. */
export function checkFileContent(method: string, content: unknown): void {
  if (typeof content === 'string' || content instanceof Uint8Array) return
  throw invalidOption(
    method,
    `takes a text or a Uint8Array, not ${shown(content)}. Write values with writeData(); wrap an ArrayBuffer: new Uint8Array(buffer)`,
  )
}

/** Refuses values that cannot be redacted (R19): an id, or bytes that only their reader understands. */
export function checkKeeps(value: string | Uint8Array, secrets: Redactor): void {
  if (secrets.isEmpty || !secrets.isIn(value)) return
  if (typeof value !== 'string') throw secretInBytes()
  throw new HoldfastError('invalid-option', {
    message:
      'The id of an artifact contains one of the credentials of this turn. Use another id. Nothing was written.',
  })
}

export function secretInBytes(): HoldfastError {
  return new HoldfastError('invalid-option', {
    message:
      'The bytes contain one of the credentials of this turn, or a part of one. Take it out first. Nothing was written.',
  })
}

export function jsonOf(value: unknown, subject: string): Json {
  const json = toJson(value)
  if (!(json instanceof JsonProblem)) return json
  throw new HoldfastError('invalid-option', {
    message: `${subject} cannot be written as JSON: ${json.message}. Nothing was written.`,
  })
}

/** Checks each value against the schema; throws with the problems of the first values that do not fit. */
export async function checkFits(id: string, schema: JsonObject, values: readonly Json[]): Promise<void> {
  const plain = jsonOf(schema, 'The schema') as JsonObject
  const lines: string[] = []
  try {
    const check = await schemaCheck(plain)
    // A null shows whether the schema is usable, before there are values.
    if (values.length === 0) check(null)
    for (const [index, value] of values.entries()) {
      const issues = check(jsonOf(value, 'The content'))
      const where = values.length > 1 ? `row ${index}, ` : ''
      lines.push(...issueLines(issues).map((line) => `${where}${line}`))
      if (lines.length >= MOST_LINES) break
    }
  } catch (error) {
    if (HoldfastError.is(error)) throw error
    throw unfit(id, `its schema cannot be used: ${thrownText(error)}`)
  }
  if (lines.length > 0) throw unfit(id, `what was given does not fit its schema: ${lines.join('; ')}`)
}

/** A text counts its own bytes; other values those of their JSON. */
export function bytesOf(value: Json, isText: boolean): number {
  return isText && typeof value === 'string' ? Buffer.byteLength(value) : jsonBytes(value)
}

/** Joins the content of a version from its changes. */
export async function joined(
  changes: readonly ArtifactChange[],
  getBlob: (hash: string) => Promise<Uint8Array | undefined>,
): Promise<ArtifactValue> {
  const withContent = changes.filter(({ content, blob }) => content !== undefined || blob !== undefined)
  const kind = changes[0]?.kind
  if (kind === 'data') return withContent[0]?.content ?? null
  if (kind === 'dataset') return withContent.flatMap(({ content }) => content as readonly Json[])
  if (withContent.every(({ blob }) => blob === undefined)) {
    return withContent.map(({ content }) => content as string).join('')
  }
  const parts = await Promise.all(withContent.map((change) => bytesIn(change, getBlob)))
  return new Uint8Array(Buffer.concat(parts))
}

const MOST_LINES = 20

async function bytesIn(
  { artifactId, blob, content }: ArtifactChange,
  getBlob: (hash: string) => Promise<Uint8Array | undefined>,
): Promise<Uint8Array> {
  if (blob === undefined) return Buffer.from(content as string)
  const bytes = await getBlob(blob)
  if (bytes !== undefined) return bytes
  throw new HoldfastError('store-corrupt', {
    message: `Blob ${blob} of artifact ${quote(artifactId)} is missing. Restore the store from a backup, or write the artifact again.`,
    details: { artifactId, blob },
  })
}

function unfit(id: string, why: string): HoldfastError {
  return new HoldfastError('invalid-option', {
    message: `Artifact ${quote(id)}: ${why}. Nothing was written.`,
    details: { artifactId: id },
  })
}
