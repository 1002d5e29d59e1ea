/**
 * A task of a remote agent: sends a message, and follows the task over lost connections until it ends or asks. Knows no tool.
 *
 * F1  A message is received once. A connection that is lost after the task is known is followed by a subscription. An answer is sent
 *     again, under the same id, only if the task still waits and its history does not have it.
 * F2  A task whose state cannot be learned within the bounds has an unknown outcome. One that works is asked for without a bound.
 */
import type { Artifact, Message, SendMessageRequest, StreamResponse, Task } from '@a2a-js/sdk'
import { isUnsent, type Timer } from '../base/index.ts'
import { HoldfastError, type Json } from '../protocol/index.ts'
import { thrownText, UnknownOutcome } from '../tool/index.ts'
import type { Connected } from './connect.ts'
import type { RemoteFile, RemoteMessage } from './remote-message.ts'
import { dataOf, filesOf, partsOf, ReceivedArtifacts, TooMuchReceived, textOf } from './remote-parts.ts'
import { type RemoteRequest, requestsIn } from './remote-request.ts'
import type { RemoteSdk } from './sdk.ts'

export interface RemoteTask {
  readonly taskId: string
  readonly contextId: string
}

export interface RemoteReply extends Partial<RemoteTask> {
  readonly state: 'completed' | 'failed' | 'cancelled' | 'rejected' | 'input-required' | 'auth-required'
  readonly text: string
  /** Data parts. */
  readonly data: readonly Json[]
  readonly files: readonly RemoteFile[]
  /** The questions of a task that waits, if they came as data. */
  readonly requests?: readonly RemoteRequest[]
}

export interface Follow {
  /** The connection, which is made when it is first needed. A failure is not kept. */
  readonly connect: () => Promise<Connected>
  readonly timer: Timer
  readonly signal: AbortSignal
  /** The task became known. Awaited before anything else is read. */
  readonly onTask: (task: RemoteTask) => Promise<void>
  readonly onProgress: (text: string) => void
}

/** Tries to reach a known task again, with growing waits: about a minute in all. One that is reached and works is no failure. */
const TRIES = 8
const FIRST_WAIT_MS = 250
const LONGEST_WAIT_MS = 32_000

/** A message that begins a task, or continues one. */
export interface NextMessage extends Partial<RemoteTask> {
  readonly messageId: string
  readonly content: RemoteMessage
}

export function sendMessage(follow: Follow, message: NextMessage): Promise<RemoteReply> {
  const { taskId, contextId = '' } = message
  // The task may come with the state from before this message.
  const known = taskId === undefined ? {} : { task: { taskId, contextId }, stale: INTERRUPTED }
  return new Following(follow, { ...known, message }).begin()
}

/**
 * The reply of a task that was begun before. `message`: an answer that was perhaps sent. `stale`: states that the task is about
 * to leave.
 */
export function followTask(
  follow: Follow,
  task: RemoteTask,
  { message, stale = [] }: Pick<Begun, 'message' | 'stale'> = {},
): Promise<RemoteReply> {
  const isAnswer = message !== undefined
  return new Following(follow, {
    task,
    stale: isAnswer ? INTERRUPTED : stale,
    ...(isAnswer ? { message } : {}),
  }).again()
}

interface Begun {
  readonly task?: RemoteTask
  readonly message?: NextMessage
  readonly stale?: readonly RemoteReply['state'][]
}

const INTERRUPTED: readonly RemoteReply['state'][] = ['input-required', 'auth-required']

class Following {
  readonly #follow: Follow
  readonly #message: NextMessage | undefined
  readonly #artifacts = new ReceivedArtifacts()
  #sdk: RemoteSdk | undefined
  #task: RemoteTask | undefined
  #reply: RemoteReply | undefined
  /** States that a whole task may still show, although it is about to leave them. */
  #stale: readonly RemoteReply['state'][]
  #staleReply: RemoteReply | undefined
  /** The reason why the remote agent did not take the answer. */
  #refusal: string | undefined

  constructor(follow: Follow, { task, message, stale = [] }: Begun) {
    this.#follow = follow
    this.#message = message
    this.#task = task
    this.#stale = stale
  }

  /** Sends the message, and follows its task. */
  async begin(): Promise<RemoteReply> {
    const isNew = this.#task === undefined
    // Nothing was sent before there is a connection: its failure is an error, and no unknown outcome.
    if (isNew) await this.#connect()
    try {
      for await (const event of this.#send(await this.#connect())) {
        await this.#take(event)
        if (this.#reply !== undefined) return this.#reply
      }
    } catch (error) {
      this.#follow.signal.throwIfAborted()
      if (error instanceof TooMuchReceived) throw lost(error.message)
      if (this.#task === undefined) throw await this.#sendFailed(error)
    }
    return this.again()
  }

  /** The task from where it is now: its state, then its events (F1). */
  async again(): Promise<RemoteReply> {
    const { signal, timer } = this.#follow
    const { taskId } = this.#known
    let why = 'the connection ended'
    let wait = FIRST_WAIT_MS
    for (let tries = 1; tries <= TRIES; tries++) {
      try {
        const connected = await this.#connect()
        const { client } = connected
        const history = this.#message === undefined ? { historyLength: 0 } : {}
        const task = await client.getTask({ tenant: '', id: taskId, ...history }, { signal })
        await this.#whole(task)
        if (this.#reply !== undefined) return this.#withRefusal(this.#reply)
        if (this.#staleReply === undefined) tries = 0
        const events = this.#isUnreceived(task)
          ? this.#send(connected)
          : client.resubscribeTask({ tenant: '', id: taskId }, { signal })
        for await (const event of events) {
          tries = 0
          wait = FIRST_WAIT_MS
          await this.#take(event)
          if (this.#reply !== undefined) return this.#reply
        }
      } catch (error) {
        signal.throwIfAborted()
        if (this.#sdk !== undefined && error instanceof this.#sdk.TaskNotFoundError)
          throw lost(`It does not know the task ${taskId} any more.`)
        if (error instanceof TooMuchReceived) throw lost(error.message)
        why = thrownText(error)
      }
      await timer.wait(wait, { signal })
      wait = Math.min(2 * wait, LONGEST_WAIT_MS)
    }
    if (this.#staleReply !== undefined) return this.#staleReply
    throw lost(`The task ${taskId} cannot be reached: ${why}`)
  }

  async #connect(): Promise<Connected> {
    const connected = await this.#follow.connect()
    this.#sdk = connected.sdk
    return connected
  }

  /** The events after the message. Those of an answer that is refused are none: the task still has its question. */
  async *#send(connected: Connected): AsyncGenerator<StreamResponse, void, undefined> {
    if (this.#message === undefined) return
    const { signal } = this.#follow
    try {
      yield* connected.client.sendMessageStream(requestOf(connected.sdk, this.#message), { signal })
    } catch (error) {
      signal.throwIfAborted()
      if (this.#message.taskId === undefined || !isRefusal(connected, error)) throw error
      this.#refusal = thrownText(error)
      this.#stale = []
    }
  }

  /** True if the task waits for an answer that was lost on its way. */
  #isUnreceived({ history, status }: Task): boolean {
    const state = status && stateOf(this.#sdk as RemoteSdk, status.state)
    const isWaiting = state !== undefined && INTERRUPTED.includes(state)
    const { messageId, taskId } = this.#message ?? {}
    if (taskId === undefined || !isWaiting || history.length === 0) return false
    return !history.some((each) => each.messageId === messageId)
  }

  #withRefusal(reply: RemoteReply): RemoteReply {
    if (this.#refusal === undefined || !INTERRUPTED.includes(reply.state)) return reply
    const after = (text: string): string => `${this.#refusal ?? ''}\n\n${text}`
    const [first, ...others] = reply.requests ?? []
    const requests = first === undefined ? [] : [{ ...first, prompt: after(first.prompt) }, ...others]
    return { ...reply, text: after(reply.text), requests }
  }

  get #known(): RemoteTask {
    if (this.#task === undefined) throw lost('It ended the connection before it named a task.')
    return this.#task
  }

  async #take({ payload }: StreamResponse): Promise<void> {
    if (payload === undefined) return undefined
    switch (payload.$case) {
      case 'task':
        return this.#whole(payload.value)
      case 'message':
        this.#reply = { state: 'completed', ...this.#content(payload.value) }
        return
      case 'artifactUpdate': {
        const { artifact, append, taskId, contextId } = payload.value
        await this.#name({ taskId, contextId })
        if (artifact !== undefined) this.#artifact(artifact, append)
        return
      }
      case 'statusUpdate': {
        const { status, taskId, contextId } = payload.value
        this.#stale = []
        await this.#name({ taskId, contextId })
        this.#status(status)
      }
    }
  }

  async #whole({ id, contextId, artifacts, status }: Task): Promise<void> {
    await this.#name({ taskId: id, contextId })
    this.#artifacts.clear()
    for (const artifact of artifacts) this.#artifact(artifact, false)
    this.#status(status)
    const isStale = this.#reply !== undefined && this.#stale.includes(this.#reply.state)
    this.#staleReply = isStale ? this.#reply : undefined
    if (isStale) this.#reply = undefined
    // A task that has left the state asks anew when it is in it again.
    else this.#stale = []
  }

  async #name(task: RemoteTask): Promise<void> {
    if (this.#task !== undefined) return
    this.#task = task
    await this.#follow.onTask(task)
  }

  #artifact(artifact: Artifact, isMore: boolean): void {
    this.#artifacts.add(artifact, isMore)
    const text = textOf(artifact.parts)
    if (text !== '') this.#follow.onProgress(text)
  }

  #status(status: Task['status']): void {
    const state = status && stateOf(this.#sdk as RemoteSdk, status.state)
    const said = status?.message === undefined ? '' : textOf(status.message.parts)
    if (state === undefined) {
      if (said !== '') this.#follow.onProgress(said)
      return
    }
    const parts = status?.message?.parts ?? []
    const text = [...this.#artifacts.texts, ...(said === '' ? [] : [said])].join('\n\n')
    const data = [...this.#artifacts.data, ...dataOf(parts)]
    const files = [...this.#artifacts.files, ...filesOf(parts)]
    const requests = INTERRUPTED.includes(state) ? { requests: requestsIn(data) } : {}
    this.#reply = { state, text, data, files, ...requests, ...this.#task }
  }

  #content({ parts, taskId, contextId }: Message): Omit<RemoteReply, 'state'> {
    const task = taskId === '' ? {} : { taskId, contextId }
    return { text: textOf(parts), data: dataOf(parts), files: filesOf(parts), ...task }
  }

  async #sendFailed(error: unknown): Promise<Error> {
    // The connection itself has refused to send it.
    if (HoldfastError.is(error, 'forbidden')) return error
    if (isUnsent(error)) return new Error(`The remote agent cannot be reached: ${thrownText(error)}`)
    if (isRefusal(await this.#connect(), error))
      return new Error(`The remote agent refused the message: ${thrownText(error)}`)
    return lost(thrownText(error))
  }
}

function requestOf({ Role }: RemoteSdk, message: NextMessage): SendMessageRequest {
  const { messageId, content, taskId = '', contextId = '' } = message
  return {
    tenant: '',
    message: {
      messageId,
      taskId,
      contextId,
      role: Role.ROLE_USER,
      parts: partsOf(content),
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: undefined,
    metadata: undefined,
  }
}

function lost(why: string): UnknownOutcome {
  return new UnknownOutcome(`The remote agent was lost. ${why}`, 'connection-lost')
}

function stateOf(sdk: RemoteSdk, state: number): RemoteReply['state'] | undefined {
  const { TaskState } = sdk
  const states: Readonly<Record<number, RemoteReply['state']>> = {
    [TaskState.TASK_STATE_COMPLETED]: 'completed',
    [TaskState.TASK_STATE_FAILED]: 'failed',
    [TaskState.TASK_STATE_CANCELED]: 'cancelled',
    [TaskState.TASK_STATE_REJECTED]: 'rejected',
    [TaskState.TASK_STATE_INPUT_REQUIRED]: 'input-required',
    [TaskState.TASK_STATE_AUTH_REQUIRED]: 'auth-required',
  }
  return states[state]
}

/** True if the agent itself answered that it did nothing. */
function isRefusal({ sdk, lastStatus }: Connected, error: unknown): boolean {
  const status = lastStatus() ?? 0
  if (status >= 400 && status < 500) return true
  return error instanceof sdk.A2AError && !VAGUE.includes(error.name)
}

/** Errors after which the agent may have done something. */
const VAGUE: readonly string[] = ['A2AError', 'InvalidAgentResponseError', 'JsonRpcTransportError']
