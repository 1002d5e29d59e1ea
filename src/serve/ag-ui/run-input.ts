/** Reads the input of a run: a message, or answers to interrupts and calls of client tools. The history is the journal's. */
import type { ContentPart, Message, ResumeEntry, RunAgentInput, Tool } from '@ag-ui/core'
import {
  type FilePart,
  type Json,
  type JsonObject,
  quote,
  type TextPart,
  type UserContent,
} from '../../protocol/index.ts'
import { issueLines, type SchemaCheck, schemaCheck } from '../../tool/index.ts'
import { AG_UI } from '../client-metadata.ts'
import { badRequest } from '../problem.ts'
import type { GraphRunInput } from './graph-input.ts'

/** A run that a client asks for. */
export interface RunInput extends GraphRunInput {
  /** Results of calls that the client has run, by call. */
  readonly results: Readonly<Record<string, Json>>
  readonly resume: readonly ResumeEntry[]
  readonly tools: readonly Tool[]
  /** True if the client has messages of the agent. */
  readonly hasHistory: boolean
  /** True if the client has something of the agent after `message`. */
  readonly isReplied: boolean
  /** Stored with the turn. */
  readonly metadata: JsonObject
}

const TEXT: JsonObject = { type: 'string', minLength: 1 }
const TOOL: JsonObject = {
  type: 'object',
  properties: {
    name: { type: 'string', pattern: '^[\\w-]{1,64}$' },
    description: { type: 'string' },
    parameters: { type: 'object' },
  },
  required: ['name'],
}
const CALL: JsonObject = {
  type: 'object',
  properties: { id: TEXT, function: { type: 'object', properties: { name: TEXT }, required: ['name'] } },
  required: ['id', 'function'],
}
const MESSAGE: JsonObject = {
  type: 'object',
  properties: { id: TEXT, role: TEXT, toolCalls: { type: 'array', items: CALL } },
  required: ['id', 'role'],
}
const RESUME: JsonObject = {
  type: 'object',
  properties: { interruptId: TEXT, status: { enum: ['resolved', 'cancelled'] } },
  required: ['interruptId', 'status'],
}
/** The body of a run: the fields that are read. */
export const RUN_INPUT: JsonObject = {
  type: 'object',
  properties: {
    threadId: TEXT,
    runId: { type: 'string', pattern: '^[\\x21-\\x7e]{1,200}$' },
    messages: { type: 'array', items: MESSAGE },
    tools: { type: 'array', items: TOOL, maxItems: 100 },
    context: { type: 'array', items: { type: 'object' } },
    resume: { type: 'array', items: RESUME, maxItems: 100 },
  },
  required: ['threadId', 'runId', 'messages'],
}

/** Lists may be absent. */
type GivenInput = Omit<RunAgentInput, 'tools' | 'context'> & Partial<Pick<RunAgentInput, 'tools' | 'context'>>

let checking: Promise<SchemaCheck> | undefined

export async function readRunInput(body: Json): Promise<RunInput> {
  checking ??= schemaCheck(RUN_INPUT)
  const issues = (await checking)(body)
  if (issues.length > 0)
    throw badRequest('This is no RunAgentInput of AG-UI.', issueLines(issues.slice(0, 20)))
  const {
    threadId,
    runId,
    messages,
    tools = [],
    context = [],
    resume = [],
    ...rest
  } = body as unknown as GivenInput
  const user = messages.findLast((message) => message.role === 'user')
  const results = clientResults(messages, tools)
  return {
    threadId,
    runId,
    ...(user === undefined ? {} : { message: contentOf(user) }),
    results,
    resume,
    tools,
    hasHistory: messages.some(({ role }) => role === 'assistant'),
    isReplied: messages.findLast(({ role }) => role === 'user' || role === 'assistant')?.role === 'assistant',
    metadata: {
      [AG_UI]: {
        runId,
        ...(tools.length === 0 ? {} : { tools: tools as unknown as Json }),
        ...(context.length === 0 ? {} : { context: context as unknown as Json }),
        ...(rest.forwardedProps === undefined || isEmpty(rest.forwardedProps)
          ? {}
          : { forwardedProps: rest.forwardedProps as Json }),
      },
    },
    state: rest.state as unknown,
    forwardedProps: rest.forwardedProps as unknown,
  }
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && (value === null || Object.keys(value).length === 0)
}

/**
 * Results for the newest reply with calls of client tools, unless the person has written since. The messages alone decide
 * this, so that a run that is sent again means the same.
 */
function clientResults(messages: readonly Message[], tools: readonly Tool[]): Readonly<Record<string, Json>> {
  const newest = messages.findLast(({ role }) => role === 'user' || role === 'tool')
  if (newest?.role !== 'tool') return {}
  const names = new Set(tools.map(({ name }) => name))
  const reply = messages.findLast(
    (message) =>
      message.role === 'assistant' && message.toolCalls?.some(({ id }) => id === newest.toolCallId) === true,
  )
  const calls = (reply?.role === 'assistant' ? reply.toolCalls : undefined) ?? []
  const own = new Set(calls.flatMap((call) => (names.has(call.function.name) ? [call.id] : [])))
  return Object.fromEntries(
    messages.flatMap((message) =>
      message.role === 'tool' && own.has(message.toolCallId) ? [[message.toolCallId, resultOf(message)]] : [],
    ),
  )
}

function resultOf({ content, error, toolCallId }: Extract<Message, { role: 'tool' }>): Json {
  if (error !== undefined) return { error }
  if ((content as unknown) === undefined)
    throw badRequest(`The result of the call ${quote(toolCallId)} has no content.`)
  if (typeof content !== 'string') return JSON.parse(JSON.stringify(content)) as Json
  try {
    return JSON.parse(content) as Json
  } catch {
    return content
  }
}

function contentOf({ content }: Extract<Message, { role: 'user' }>): UserContent {
  if (typeof content === 'string') {
    if (content.trim() === '') throw badRequest('The newest message of the user is empty.')
    return content
  }
  if (!Array.isArray(content)) throw badRequest('The newest message of the user has no content.')
  return content.map(partOf)
}

function partOf(part: ContentPart | null): TextPart | FilePart {
  if (typeof part !== 'object' || part === null) throw badRequest('A part of a message must be an object.')
  if (part.type === 'text') return { type: 'text', text: part.text }
  const { source } = part
  if (source?.type === 'data') return { type: 'file', mediaType: source.mimeType, data: source.value }
  if (source?.type === 'url' && source.mimeType !== undefined)
    return { type: 'file', mediaType: source.mimeType, data: source.value }
  throw badRequest(
    `A part of type ${part.type} needs a source of type data, or of type url with its mimeType.`,
  )
}
