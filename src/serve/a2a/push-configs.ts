/** Push notification configs of tasks, kept as documents of their conversations. */
import type { TaskPushNotificationConfig } from '@a2a-js/sdk'
import { systemIds } from '../../base/index.ts'
import type { Host, HostDocument } from '../../host/index.ts'
import { GuardedFetchError, parseOrigins, parseTarget } from '../../net/index.ts'
import type { ContextKey, JsonObject } from '../../protocol/index.ts'
import { badRequest, HttpProblem } from '../problem.ts'
import type { PushDelivery } from './push-delivery.ts'
import type { PushOptions } from './push-options.ts'
import { type PushRecord, pushName, pushPrefix } from './push-record.ts'
import type { Seal } from './seal.ts'
import type { TaskFold } from './task-fold.ts'

/** The most configs of one task. */
const MOST = 10
const LONGEST = 8192

export interface PushParts {
  readonly host: Host
  readonly options: PushOptions
  readonly seal: Seal
  readonly delivery: PushDelivery
}

/** The task that configs belong to, its conversation, and the version of the request. */
export interface PushPlace {
  readonly task: TaskFold
  readonly key: ContextKey
  readonly version: string
}

export class PushConfigs {
  readonly #parts: PushParts

  constructor(parts: PushParts) {
    this.#parts = parts
  }

  /** Throws for a config that cannot be kept. Where its address leads is checked whenever it is dialled. */
  check({ url, token, authentication }: TaskPushNotificationConfig): void {
    try {
      parseTarget(url, parseOrigins(this.#parts.options.allowOrigins ?? []))
    } catch (error) {
      throw error instanceof GuardedFetchError ? badRequest(error.message) : error
    }
    for (const text of [token, authentication?.scheme ?? '', authentication?.credentials ?? ''])
      if (text.length > LONGEST || !/^[\x20-\x7e]*$/.test(text))
        throw badRequest('The token and the credentials must be visible ASCII, as headers have it.')
  }

  /** Adds a config to a task: it gets the changes from now on. One of the same id is replaced, and its position kept. */
  async create(
    { task, key, version }: PushPlace,
    config: TaskPushNotificationConfig,
  ): Promise<TaskPushNotificationConfig> {
    this.check(config)
    const { seq } = task.name
    const id = config.id || systemIds.next('push')
    const name = pushName(seq, id)
    await this.#checkRoom({ key, seq, name })
    const { url } = config
    const record: PushRecord = {
      task: seq,
      id,
      url,
      version,
      at: Math.max(task.last, seq),
      ...this.#sealed(config),
    }
    await this.#replace(key, name, ({ value }) => {
      const { closed, at, done = 0 } = (value ?? { closed: 'deleted' }) as PushRecord
      if (closed === 'deleted') return { value: record, wakeAt: 0 }
      const kept = { ...record, at, done }
      return closed === undefined ? { value: kept, wakeAt: 0 } : { value: { ...kept, closed } }
    })
    this.#parts.delivery.wake(key, name)
    return shown(record, { taskId: task.id, token: config.token, config })
  }

  async #checkRoom({
    key,
    seq,
    name,
  }: {
    readonly key: ContextKey
    readonly seq: number
    readonly name: string
  }) {
    const { documents } = this.#parts.host
    const names = await documents.names(key, pushPrefix(seq))
    if (names.length < MOST || names.includes(name)) return
    const kept = await Promise.all(names.map((each) => documents.read(key, each)))
    if (kept.filter(({ value }) => value?.['closed'] !== 'deleted').length >= MOST)
      throw badRequest(`A task has at most ${MOST} configs.`)
  }

  async list({ task, key }: PushPlace): Promise<readonly TaskPushNotificationConfig[]> {
    const { host, seal } = this.#parts
    const names = await host.documents.names(key, pushPrefix(task.name.seq))
    const documents = await Promise.all(names.map((name) => host.documents.read(key, name)))
    return documents.flatMap(({ value }) => {
      const record = value as PushRecord | undefined
      if (record === undefined || record.closed === 'deleted') return []
      const secrets = record.sealed === undefined ? {} : (seal.open(record.sealed) ?? {})
      return [shown(record, { taskId: task.id, token: textOf(secrets['token']), config: authOf(secrets) })]
    })
  }

  /** Deletes a config. One that does not exist is deleted already. */
  async delete({ task, key }: PushPlace, id: string): Promise<void> {
    const name = pushName(task.name.seq, id)
    await this.#replace(key, name, ({ value }) =>
      value === undefined
        ? undefined
        : { value: { ...without(value as PushRecord, 'sealed'), closed: 'deleted' } },
    )
  }

  /** Delivers what a task that goes on will bring. */
  async resume({ task, key }: PushPlace): Promise<void> {
    const names = await this.#parts.host.documents.names(key, pushPrefix(task.name.seq))
    for (const name of names) this.#parts.delivery.wake(key, name)
  }

  async #replace(
    key: ContextKey,
    name: string,
    change: (document: HostDocument) => { readonly value: JsonObject; readonly wakeAt?: number } | undefined,
  ): Promise<void> {
    const { documents } = this.#parts.host
    for (let attempt = 0; attempt < 20; attempt++) {
      const document = await documents.read(key, name)
      const write = change(document)
      if (write === undefined || (await documents.write(document, write)) !== undefined) return
    }
    throw new HttpProblem({ status: 503, code: 'busy', detail: 'Others change this config. Send it again.' })
  }

  #sealed({ token, authentication }: TaskPushNotificationConfig): { readonly sealed?: string } {
    const { scheme = '', credentials = '' } = authentication ?? {}
    if (token === '' && scheme === '') return {}
    return { sealed: this.#parts.seal.close({ token, scheme, credentials }) }
  }
}

function authOf(secrets: JsonObject): Pick<TaskPushNotificationConfig, 'authentication'> {
  const scheme = textOf(secrets['scheme'])
  return { authentication: scheme === '' ? undefined : { scheme, credentials: '' } }
}

interface Shown {
  readonly taskId: string
  readonly token: string
  readonly config: Pick<TaskPushNotificationConfig, 'authentication'>
}

/** A config as clients see it: without the credentials. */
function shown({ id, url }: PushRecord, { taskId, token, config }: Shown): TaskPushNotificationConfig {
  const { authentication } = config
  return {
    tenant: '',
    id,
    taskId,
    url,
    token,
    authentication: authentication === undefined ? undefined : { ...authentication, credentials: '' },
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function without(record: PushRecord, field: keyof PushRecord): JsonObject {
  const { [field]: _, ...rest } = record
  return rest
}
