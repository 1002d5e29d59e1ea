/**
 * Redacts entries (R19). Every field is redacted except for those listed here: ids, names and texts that the runtime or
 * the program chose, and that others look up. The compiler asks for a row of every type, so that its author decides;
 * an empty one, and types of a newer version, are redacted whole.
 */
import type { AssistantPart, EntryData, EntryType, Json, JsonObject } from '../protocol/index.ts'
import type { Redactor } from '../tool/index.ts'

/** True: kept whole. `*`: every item of a list, or every field of an object, with its name kept. */
type Kept = true | { readonly [field: string]: Kept }

const REDACTED_VALUE: Kept = {}
/** Fields under names of the program, such as channels. */
const NAMED: Kept = { '*': REDACTED_VALUE }
const ASKING: Kept = { principal: true, limits: true, origin: true }
const PART: Kept = {
  type: true,
  by: true,
  callId: true,
  tool: true,
  status: true,
  mediaType: true,
}
const CONTENT: Kept = { '*': PART }
const MESSAGES: Kept = { '*': { role: true, model: true, by: true, content: CONTENT } }
const STOP: Kept = { by: true }
const SEEN: Kept = { '*': { entity: true } }
const FAILURE: Kept = { kind: true, next: true, waitMs: true, status: true }
const GROUNDS: Kept = { '*': { entity: true, source: true, seq: true } }
const SETTLED: Kept = { callId: true, status: true }

const KEPT: Readonly<Record<EntryType, Kept>> = {
  input: { ...ASKING, message: CONTENT, values: NAMED },
  answer: { ...ASKING, requestId: true },
  cancel: { turn: true },
  'late-result': SETTLED,
  claim: true,
  release: true,
  'turn.start': { ...ASKING, traceparent: true, prompt: true },
  take: { as: true },
  note: { from: true },
  phase: {
    name: true,
    callId: true,
    changes: {
      args: NAMED,
      results: NAMED,
      stop: STOP,
      prompt: {
        tools: true,
        messages: { of: true, end: true, splices: { '*': { at: true, remove: true, insert: MESSAGES } } },
      },
      grounds: GROUNDS,
    },
  },
  'model.start': true,
  'model.end': { content: CONTENT, finish: true, model: true, usage: true, error: FAILURE, sent: true },
  'tool.start': {
    ...{ ...SETTLED, tool: true, idempotencyKey: true, argsKey: true, inputKey: true, replay: true },
    grounds: GROUNDS,
  },
  'tool.end': { ...SETTLED, usage: true, seen: SEEN },
  'tool.late': SETTLED,
  usage: true,
  'request.start': {
    requestId: true,
    kind: true,
    from: true,
    callId: true,
    name: true,
    expiresAt: true,
    inputKey: true,
  },
  'request.end': { requestId: true, how: true, origin: true },
  warning: { code: true, tokens: true, usage: true },
  'turn.end': {
    outcome: true,
    usage: true,
    durationMs: true,
    limit: true,
    maximum: true,
    stopped: STOP,
    wakeAt: true,
    handedOn: true,
    error: { ...FAILURE, node: true, task: true },
  },
  artifact: {
    ...{ artifactId: true, kind: true, op: true, version: true, chunk: true, blob: true, bytes: true },
    ...{ callId: true, chunks: true, totalBytes: true, complete: true },
  },
  'graph.start': { graph: true, channels: true, update: NAMED, changes: NAMED, origin: true, ahead: true },
  'graph.channels': { channels: true, changes: NAMED },
  'graph.queue': { update: NAMED, origin: true, sender: ASKING },
  'graph.step': {
    tasks: { '*': { task: true, node: true } },
    changes: NAMED,
    waiting: true,
    leads: { targets: { '*': { node: true } }, waiting: true },
  },
  'node.end': { task: true, node: true, update: NAMED, usage: true, below: true, error: FAILURE, seen: SEEN },
  'effect.start': true,
  'effect.end': SETTLED,
  active: { values: { '*': { entity: true, at: true, origin: true } }, by: true, chosen: true },
  grants: { values: { '*': { tenant: true, actor: true, at: true } } },
  import: { messages: MESSAGES, source: true, key: true, continues: true, origin: true },
  state: REDACTED_VALUE,
  compact: { upTo: true, kept: true, receipt: true },
  clear: REDACTED_VALUE,
  fork: true,
  base: true,
}

/** The data of an entry as it may be stored; the same object if nothing was redacted. */
export function redactEntry<T extends JsonObject>(type: string, data: T, secrets: Redactor): T {
  if (secrets.isEmpty) return data
  const kept = Object.hasOwn(KEPT, type) ? KEPT[type as EntryType] : REDACTED_VALUE
  const safe = redacted(data, kept, secrets) as T
  return type === 'model.end' && safe !== data ? { ...safe, content: withoutSignatures(data, safe) } : safe
}

/** A redacted thought no longer fits its provider's signature, and would be refused with it. */
function withoutSignatures(data: JsonObject, safe: JsonObject): readonly AssistantPart[] {
  const [before, after] = [data, safe] as unknown as readonly EntryData['model.end'][]
  return (after?.content ?? []).map((part, index) => {
    if (part.type !== 'reasoning' || part === before?.content[index]) return part
    return { type: part.type, text: part.text }
  })
}

function redacted(value: Json, kept: Kept, secrets: Redactor): Json {
  if (kept === true) return value
  if (typeof value !== 'object' || value === null) return secrets.json(value)
  if (Array.isArray(value)) {
    const list = value as readonly Json[]
    const items = list.map((item) => redacted(item, kept['*'] ?? REDACTED_VALUE, secrets))
    return items.some((item, index) => item !== list[index]) ? items : list
  }
  if (kept === REDACTED_VALUE) return secrets.json(value)
  return redactedFields(value as JsonObject, kept, secrets)
}

/** Redacts field by field, in order. The names of unlisted fields may be secrets themselves. */
function redactedFields(value: JsonObject, kept: Exclude<Kept, true>, secrets: Redactor): JsonObject {
  let safe: [string, Json | undefined][] | undefined
  const names = Object.keys(value)
  for (const [at, name] of names.entries()) {
    const rule = Object.hasOwn(kept, name) ? kept[name] : kept['*']
    const field = value[name]
    const newName = rule === undefined ? secrets.text(name) : name
    const newField = field === undefined ? field : redacted(field, rule ?? REDACTED_VALUE, secrets)
    if (safe === undefined && (newName !== name || newField !== field))
      safe = names.slice(0, at).map((before) => [before, value[before]])
    safe?.push([newName, newField])
  }
  return safe === undefined ? value : Object.fromEntries(safe)
}
