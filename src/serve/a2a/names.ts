/**
 * Names of contexts and tasks. A context is a conversation of the host: its id there is the name of the agent, a colon and
 * the contextId. A task is a message that began a turn: its id is the contextId, a dot and the position of the message in
 * the journal. So every process finds a task by its id alone, and only with the tenant and actor of its caller (R20).
 */
import { createHash } from 'node:crypto'
import { type ContextKey, contextKey, type JsonObject } from '../../protocol/index.ts'
import type { Caller } from '../caller.ts'

export interface TaskName {
  readonly contextId: string
  /** The position of the message that began the task. */
  readonly seq: number
}

export function taskIdOf({ contextId, seq }: TaskName): string {
  return `${contextId}.${seq}`
}

/** Undefined for an id that no task has. */
export function parseTaskId(id: string): TaskName | undefined {
  const [, contextId, digits] = /^(.+)\.([1-9]\d{0,14})$/su.exec(id) ?? []
  return contextId === undefined ? undefined : { contextId, seq: Number(digits) }
}

/** The conversation of a context: always one of the caller's own. Throws `invalid-key` for an id that cannot be one. */
export function keyOf({ tenant, actor }: Caller, agent: string, contextId: string): ContextKey {
  return contextKey({ tenant, actor, contextId: `${agent}:${contextId}` })
}

/** The contextId of a first message without one: the same if the message is sent again. */
export function newContextId({ tenant, actor }: Caller, agent: string, messageId: string): string {
  const hash = createHash('sha256').update(JSON.stringify([tenant, actor, agent, messageId]))
  return hash.digest('hex').slice(0, 32)
}

const POSTED = 'a2a:'

/** The idempotency key of a message. */
export function postKey(messageId: string): string {
  return `${POSTED}${messageId}`
}

/** The id of a message that was posted under a key, by this or another protocol. The host adds the request to that of an answer. */
export function messageIdOf(key: string, requestId?: string): string {
  const end = `/${requestId ?? ''}`
  const own = requestId !== undefined && key.endsWith(end) ? key.slice(0, -end.length) : key
  return own.startsWith(POSTED) ? own.slice(POSTED.length) : own
}

/** The metadata of a turn that a message with credentials continues: such a turn has no input that could name it. */
export function credentialsMetadata(messageId: string): JsonObject {
  return { a2a: { messageId } }
}

/** The id of that message; undefined for any other turn. */
export function credentialsMessage({ a2a }: JsonObject = {}): string | undefined {
  const { messageId } = (a2a ?? {}) as { readonly messageId?: unknown }
  return typeof messageId === 'string' ? messageId : undefined
}
