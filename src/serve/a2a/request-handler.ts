/**
 * The operations of the protocol for one caller and one agent, on the host. The journal is the store of tasks and the bus
 * of their events: nothing about a task is kept here, so any process answers for any task.
 */
import type {
  AgentCard,
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  ListTasksResponse,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk'
import type { JsonRpcTransportHandler } from '@a2a-js/sdk/server'
import type { HostedTurn } from '../../host/index.ts'
import type { OpenStream } from '../open-streams.ts'
import { problemOf } from '../problem.ts'
import { checkFinished } from '../turn-events.ts'
import { addEntry } from './flow-reply.ts'
import type { Sdk } from './packages.ts'
import type { PushConfigs, PushPlace } from './push-configs.ts'
import { postMessage } from './send-message.ts'
import type { TaskFold } from './task-fold.ts'
import { listTasks } from './task-list.ts'
import type { TaskReader } from './task-reader.ts'
import { entryIn, taskUpdates } from './task-stream.ts'
import { type TaskViewOptions, taskOf } from './task-view.ts'

/** The port of the package that the transports call. */
export type A2aRequestHandler = ConstructorParameters<typeof JsonRpcTransportHandler>[0]

export interface HandlerOptions {
  readonly sdk: Sdk
  readonly reader: TaskReader
  readonly card: () => AgentCard
  readonly extendedCard: () => Promise<AgentCard>
  readonly openStream: () => OpenStream
  /** Undefined if the server sends no push notifications. */
  readonly push: PushConfigs | undefined
  /** The version of the protocol that the request has. */
  readonly version: string
  /** Ends waiting when the client has left. */
  readonly signal: () => AbortSignal
}

/** Says why a request is refused that the codecs of the package cannot read. */
export const UNREADABLE = 'A field of the request has another type than the protocol says.'

export class RequestHandler implements A2aRequestHandler {
  /** A failure that is not the client's: the server logs it, and the client gets no details. */
  failure: { readonly error: unknown } | undefined
  /** False if the package could not even read the request. */
  isReached = false
  readonly #options: HandlerOptions

  constructor(options: HandlerOptions) {
    this.#options = options
  }

  async getAgentCard(): Promise<AgentCard> {
    return this.#options.card()
  }

  getAuthenticatedExtendedAgentCard(): Promise<AgentCard> {
    return this.#guarded(() => this.#options.extendedCard())
  }

  sendMessage(request: SendMessageRequest): Promise<Task> {
    return this.#guarded(async () => {
      const { fold, turn } = await this.#post(request)
      const { returnImmediately = false, historyLength } = request.configuration ?? {}
      const isRead = !returnImmediately && turn !== undefined && (await this.#readTurn(fold, turn))
      return this.#task(isRead && fold.isSettled ? fold : await this.#found(fold.id), { historyLength })
    })
  }

  sendMessageStream(request: SendMessageRequest): AsyncGenerator<StreamResponse, void, undefined> {
    return this.#stream(() => this.#post(request))
  }

  getTask({ id, tenant, historyLength }: GetTaskRequest): Promise<Task> {
    return this.#guarded(async () => this.#task(await this.#found(id, tenant), { historyLength }))
  }

  listTasks(request: ListTasksRequest): Promise<ListTasksResponse> {
    return this.#guarded(async () => {
      const { reader } = this.#options
      if (!this.#isOwnTenant(request.tenant))
        return { tasks: [], nextPageToken: '', pageSize: request.pageSize ?? 0, totalSize: 0 }
      return listTasks(reader, request)
    })
  }

  cancelTask({ id, tenant, metadata }: CancelTaskRequest): Promise<Task> {
    return this.#guarded(async () => {
      const { reader, sdk, signal } = this.#options
      const fold = await this.#found(id, tenant)
      if (fold.isEnded || fold.state === 'submitted')
        throw new sdk.errors.TaskNotCancelableError(
          fold.isEnded ? `Task ${id} has ended.` : `Task ${id} waits for another task of its context to end.`,
        )
      const reason: unknown = metadata?.['reason']
      await reader.host.cancel(
        reader.keyOf(fold.name.contextId),
        typeof reason === 'string' ? reason : undefined,
        fold.turn,
      )
      for await (const _ of taskUpdates(reader, fold, { signal: signal() })) if (fold.isEnded) break
      return this.#task(fold)
    })
  }

  resubscribe({ id, tenant }: SubscribeToTaskRequest): AsyncGenerator<StreamResponse, void, undefined> {
    return this.#stream(async () => {
      const fold = await this.#found(id, tenant)
      if (fold.isEnded)
        throw new this.#options.sdk.errors.UnsupportedOperationError(`Task ${id} has ended. Get it instead.`)
      return { fold }
    })
  }

  createTaskPushNotificationConfig(config: TaskPushNotificationConfig): Promise<TaskPushNotificationConfig> {
    return this.#guarded(async () =>
      this.#push.create(await this.#place(config.taskId, config.tenant), config),
    )
  }

  getTaskPushNotificationConfig({
    taskId,
    tenant,
    id,
  }: GetTaskPushNotificationConfigRequest): Promise<TaskPushNotificationConfig> {
    return this.#guarded(async () => {
      const { sdk } = this.#options
      const configs = await this.#push.list(await this.#place(taskId, tenant))
      const config = configs.find((each) => each.id === id)
      if (config === undefined)
        throw new sdk.errors.TaskNotFoundError(`Push notification config not found: ${id}`)
      return config
    })
  }

  listTaskPushNotificationConfigs({
    taskId,
    tenant,
  }: ListTaskPushNotificationConfigsRequest): Promise<ListTaskPushNotificationConfigsResponse> {
    return this.#guarded(async () => ({
      configs: [...(await this.#push.list(await this.#place(taskId, tenant)))],
      nextPageToken: '',
    }))
  }

  deleteTaskPushNotificationConfig({
    taskId,
    tenant,
    id,
  }: DeleteTaskPushNotificationConfigRequest): Promise<void> {
    return this.#guarded(async () => this.#push.delete(await this.#place(taskId, tenant), id))
  }

  async #place(id: string, tenant: string): Promise<PushPlace> {
    return this.#placeOf(await this.#found(id, tenant))
  }

  #placeOf(task: TaskFold): PushPlace {
    const { reader, version } = this.#options
    return { task, key: reader.keyOf(task.name.contextId), version }
  }

  get #push(): PushConfigs {
    const { push, sdk } = this.#options
    if (push === undefined) throw new sdk.errors.PushNotificationNotSupportedError()
    return push
  }

  async #post(request: SendMessageRequest) {
    const { reader, sdk } = this.#options
    if (!this.#isOwnTenant(request.tenant))
      throw new sdk.errors.RequestMalformedError('The tenant is not yours. Leave it out.')
    const config = request.configuration?.taskPushNotificationConfig
    if (config !== undefined) this.#push.check(config)
    const posted = await postMessage(reader, request, sdk.errors)
    const place = this.#placeOf(posted.fold)
    // A message that is sent again, or the next one of the task, brings the same config.
    if (config !== undefined) await this.#push.create(place, { ...config, id: config.id || place.task.id })
    else if (request.message?.taskId) await this.#options.push?.resume(place)
    return posted
  }

  /** Waits for the end of a turn, whose entries are those of the task. False if some of them are in the journal alone. */
  async #readTurn(fold: TaskFold, turn: HostedTurn): Promise<boolean> {
    const { host } = this.#options.reader
    const key = this.#options.reader.keyOf(fold.name.contextId)
    let isEnd = false
    for await (const event of turn) {
      const entry = entryIn(event, fold)
      if (entry === 'gap') break
      if (entry === undefined) continue
      const added = addEntry(fold, entry, { host, key })
      if (added instanceof Promise) await added
      isEnd = entry.type === 'turn.end' && entry.turn === fold.turn
    }
    checkFinished(await turn.outcome)
    return isEnd
  }

  /** The place of the stream is taken before `begin` stores anything. */
  async *#stream(
    begin: () => Promise<{ readonly fold: TaskFold; readonly turn?: HostedTurn | undefined }>,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    let stream: OpenStream | undefined
    let isBegun = false
    this.isReached = true
    try {
      stream = this.#options.openStream()
      const { fold, turn } = await begin()
      for await (const update of taskUpdates(this.#options.reader, fold, { signal: stream.signal, turn })) {
        isBegun = true
        yield update
      }
    } catch (error) {
      // Before the first update, the server answers and reports it.
      if (isBegun) stream?.failed(error)
      throw this.#converted(error)
    } finally {
      stream?.leave()
    }
  }

  /** One error for a task that does not exist and for one of somebody else. */
  async #found(id: string, tenant = ''): Promise<TaskFold> {
    const { reader, sdk } = this.#options
    const fold = this.#isOwnTenant(tenant) ? await reader.find(id) : undefined
    if (fold === undefined) throw new sdk.errors.TaskNotFoundError(`Task not found: ${id}`)
    return fold
  }

  /** The tenant comes from the authentication; a request may repeat it. */
  #isOwnTenant(tenant: string): boolean {
    return tenant === '' || tenant === this.#options.reader.caller.tenant
  }

  #task(fold: TaskFold, options: TaskViewOptions = {}): Promise<Task> {
    return taskOf(fold, this.#options.reader.readBlob, options)
  }

  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    this.isReached = true
    try {
      return await work()
    } catch (error) {
      throw this.#converted(error)
    }
  }

  /** The error in the words of the protocol, if it is the client's. */
  #converted(error: unknown): unknown {
    const { errors } = this.#options.sdk
    if (error instanceof errors.A2AError) return error
    const { status, detail, issues = [] } = problemOf(error)
    if (status >= 400 && status < 500 && !NOT_MALFORMED.has(status))
      return new errors.RequestMalformedError([detail, ...issues].join(' '))
    this.failure = { error }
    return error
  }
}

/** Failures of the caller that HTTP has better words for. */
const NOT_MALFORMED: ReadonlySet<number> = new Set([401, 403, 429])
