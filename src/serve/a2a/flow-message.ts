/**
 * Messages to flows. The journal has the values that a flow made of a message; the text is kept beside them, in the metadata
 * of the input, for the history of the task.
 */
import type { Part } from '@a2a-js/sdk'
import type { Json, JsonObject } from '../../protocol/index.ts'
import { dataPart, textPart } from './parts.ts'

/** The metadata of an input that keeps the text of a message. */
export function flowMetadata(message: string): JsonObject {
  return { a2a: { message } }
}

/**
 * The parts of a message by the values and the metadata of its input: the kept text; of one that came by another protocol,
 * the person's last message in the values; else the values themselves.
 */
export function sentParts(values: JsonObject, metadata: JsonObject = {}): Part[] {
  const { message } = objectOf(metadata['a2a'])
  const text = typeof message === 'string' ? message : lastUserText(values['messages'])
  return [text === undefined ? dataPart(values) : textPart(text)]
}

function lastUserText(messages: Json | undefined): string | undefined {
  const last = Array.isArray(messages) ? objectOf(messages.at(-1) as Json | undefined) : {}
  const { role, content } = last
  return role === 'user' && typeof content === 'string' ? content : undefined
}

function objectOf(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
}
