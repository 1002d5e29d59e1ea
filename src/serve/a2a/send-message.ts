/** Posts a message to the host: one that begins a task, or one for a task that waits or runs. */
import type { Message, SendMessageRequest } from '@a2a-js/sdk'
import type { HostedTurn, SendOptions } from '../../host/index.ts'
import { type ContextKey, isObject, type Json } from '../../protocol/index.ts'
import { authOf } from '../caller.ts'
import { clientMetadata } from '../client-metadata.ts'
import { badRequest, refusedProblem } from '../problem.ts'
import { answersIn } from './answers.ts'
import { flowMetadata } from './flow-message.ts'
import { credentialsMetadata, newContextId, postKey } from './names.ts'
import type { Sdk } from './packages.ts'
import { inputOf } from './parts.ts'
import { TaskFold } from './task-fold.ts'
import type { TaskReader } from './task-reader.ts'

/** A message that is stored. `turn` is absent if it was taken before. */
export interface Posted {
  readonly fold: TaskFold
  readonly turn?: HostedTurn
}

export async function postMessage(
  reader: TaskReader,
  request: SendMessageRequest,
  errors: Sdk['errors'],
): Promise<Posted> {
  const message = checkedMessage(request)
  if (message.taskId === '') return beginTask(reader, message, request)
  const fold = await reader.find(message.taskId)
  if (fold === undefined) throw new errors.TaskNotFoundError(`Task not found: ${message.taskId}`)
  if (message.contextId !== '' && message.contextId !== fold.name.contextId)
    throw badRequest('The task belongs to another contextId. Leave contextId out.')
  if (fold.has(message.messageId)) return { fold }
  if (fold.isEnded)
    throw new errors.UnsupportedOperationError(
      `Task ${fold.id} has ended. Send the message without taskId to go on with its context.`,
    )
  // The running turn of the context is that of another task.
  if (fold.state === 'submitted')
    throw new errors.UnsupportedOperationError(
      `Task ${fold.id} has not begun. Send the message once it works, or without taskId as a task of its own.`,
    )
  if (fold.state === 'working' && kindOf(reader) !== 'agent')
    throw new errors.UnsupportedOperationError(
      `Task ${fold.id} runs, and ${reader.agent} takes no message meanwhile. Send it without taskId as a task of its own.`,
    )
  const turn = await continueTask(reader, fold, { message, request })
  await refusal(turn)
  return { fold, turn }
}

function checkedMessage({ message }: SendMessageRequest): Message {
  if (message === undefined) throw badRequest('message is missing.')
  if (message.messageId === '') throw badRequest('message.messageId is missing.')
  if (message.parts.length === 0) throw badRequest('message.parts is empty.')
  return message
}

async function beginTask(reader: TaskReader, message: Message, request: SendMessageRequest): Promise<Posted> {
  const { host, caller, agent } = reader
  const contextId = message.contextId || newContextId(caller, agent, message.messageId)
  const key = reader.keyOf(contextId)
  const kind = kindOf(reader)
  const input = inputOf(message.parts, kind)
  const posting = optionsOf(reader, request, message)
  const kept = kind === 'flow' ? { metadata: { ...posting.metadata, ...flowMetadata(input as string) } } : {}
  const options = { ...posting, ...kept, whileBusy: 'queue' } as const
  const turn = await host.send(key, input, options)
  const seq = await positionOf(reader, { turn, key, posted: options.key })
  return { fold: new TaskFold({ contextId, seq }), turn }
}

interface Continued {
  readonly message: Message
  readonly request: SendMessageRequest
}

/** Answers the requests that the task waits for, or adds a message to its running turn. */
async function continueTask(
  reader: TaskReader,
  fold: TaskFold,
  { message, request }: Continued,
): Promise<HostedTurn> {
  const { host } = reader
  const key = reader.keyOf(fold.name.contextId)
  const options = optionsOf(reader, request, message)
  const { requests } = fold
  if (requests.length === 0)
    return host.send(key, inputOf(message.parts, 'agent'), { ...options, whileBusy: 'steer' })
  // A turn with credentials answers the request for them; there is no other answer to it.
  if (requests.every(({ from }) => from === 'credentials'))
    return host.send(key, null, {
      auth: options.auth,
      metadata: { ...options.metadata, ...credentialsMetadata(message.messageId) },
    })
  return host.answer(key, answersIn(message.parts, requests), options)
}

function kindOf({ host, agent }: TaskReader): 'agent' | 'flow' | 'graph' {
  if (host.isFlow(agent)) return 'flow'
  return host.graphs.includes(agent) ? 'graph' : 'agent'
}

type PostOptions = SendOptions & { readonly key: string; readonly auth: NonNullable<SendOptions['auth']> }

/** `credentials` in the metadata of the message reach the tools of its turn, and are not stored. */
function optionsOf({ caller }: TaskReader, request: SendMessageRequest, message: Message): PostOptions {
  const credentials = message.metadata?.['credentials'] as Json | undefined
  if (credentials !== undefined && !isObject(credentials))
    throw badRequest('metadata.credentials of the message must be an object.')
  return {
    auth: authOf(caller, credentials),
    key: postKey(message.messageId),
    ...clientMetadata(request.metadata),
  }
}

interface PostedTurn {
  readonly turn: HostedTurn
  readonly key: ContextKey
  readonly posted: string
}

/** The position of the message. One that was sent before is found in the journal. */
async function positionOf(reader: TaskReader, { turn, key, posted }: PostedTurn): Promise<number> {
  const first = await refusal(turn)
  if (first?.type === 'input' && first.key === posted && first.seq !== undefined) return first.seq
  const found = await reader.findPosted(key, posted)
  if (found?.type === 'input') return found.seq
  throw badRequest('This messageId was used before. Use a new one for each message.')
}

/** The first event of the turn. Throws if the turn was refused. */
async function refusal(turn: HostedTurn) {
  for await (const event of turn) {
    if (event.type !== 'turn.refused') return event
    throw refusedProblem(event.data)
  }
  return undefined
}
