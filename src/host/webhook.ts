/**
 * Notices of open requests as signed HTTP requests, in the form of Standard Webhooks. Repeated with growing waits, in
 * order for each conversation, then given up and reported. Addresses pass the guard. Nothing is stored: the list of open
 * requests is the truth, and a notice only says that it is worth a look.
 */
import { createHash } from 'node:crypto'
import { type Clock, systemClock, systemTimer, type Timer, warnOnce } from '../base/index.ts'
import { type GuardedFetchOptions, signedPost, signingSecret, waitAfter } from '../net/index.ts'
import {
  checkOptions,
  HoldfastError,
  invalidOption,
  isObject,
  keyText,
  type OptionSet,
  shown,
} from '../protocol/index.ts'
import { callEmbedder } from './call-embedder.ts'
import type { RequestNotice } from './reads.ts'

export interface WebhookOptions
  extends Pick<GuardedFetchOptions, 'allowOrigins' | 'ca' | 'resolve' | 'connect'> {
  readonly url: string
  /** Signs every notice: `whsec_` and base64, or a text, of at least 32 bytes. */
  readonly secret: string
  /** How often a notice is sent in all. Default: 10, over about nine minutes. */
  readonly attempts?: number
  /** The limit of one attempt. Default: 10 s. */
  readonly timeoutMs?: number
  /** The most notices that wait; the next is given up at once. Default: 1,000. */
  readonly maxPending?: number
  /** Gets notices that were given up. Default: a warning of the process. */
  readonly onFailure?: (failure: WebhookFailure) => void
  /** Time, for tests. */
  readonly clock?: Clock
  readonly timer?: Timer
}

export interface WebhookFailure {
  readonly notice: RequestNotice
  readonly attempts: number
  readonly reason: string
}

/** Pass it as `onRequest` of a host. */
export interface Webhook {
  (notice: RequestNotice): void
  /** Sends nothing more, and reports the notices that wait as given up. */
  stop(): Promise<void>
}

const WEBHOOK: OptionSet<WebhookOptions> = {
  place: 'webhook()',
  options: {
    url: 'a text',
    secret: 'a text',
    attempts: { least: 1 },
    timeoutMs: { leastMs: 1 },
    maxPending: { least: 1 },
    onFailure: 'a function',
    allowOrigins: 'a list',
    ca: 'a text',
    resolve: 'a function',
    connect: 'a function',
    clock: 'an object',
    timer: 'a timer with wait() and after()',
  },
  foreign: { retries: 'attempts', signingSecret: 'secret', endpoint: 'url' },
}

export function webhook(options: WebhookOptions): Webhook {
  checkOptions(options, WEBHOOK)
  for (const name of ['url', 'secret'] as const)
    if (options[name] === undefined) throw invalidOption('webhook()', `needs \`${name}\``)
  const deliveries = new Deliveries(options)
  return Object.assign((notice: RequestNotice): void => deliveries.add(notice), {
    stop: () => deliveries.stop(),
  })
}

class Deliveries {
  readonly #options: WebhookOptions
  readonly #secret: Uint8Array
  readonly #clock: Clock
  readonly #timer: Timer
  /** The last delivery of each conversation: the next waits for it. */
  readonly #last = new Map<string, Promise<void>>()
  readonly #stop = new AbortController()
  #pending = 0

  constructor(options: WebhookOptions) {
    this.#options = options
    this.#secret = signingSecret(options.secret, 'webhook()')
    this.#clock = options.clock ?? systemClock
    this.#timer = options.timer ?? systemTimer
    if (!URL.canParse(options.url) || !/^https?:$/.test(new URL(options.url).protocol))
      throw invalid('The url of webhook() must be an address, such as https://…')
  }

  add(notice: RequestNotice): void {
    if (!isObject(notice) || !isObject(notice.key))
      throw invalidOption('A webhook', `takes a notice of open requests, not ${shown(notice)}`)
    const { maxPending = 1000 } = this.#options
    if (this.#stop.signal.aborted || this.#pending >= maxPending) {
      const reason = this.#stop.signal.aborted ? STOPPED : `${maxPending} notices wait already.`
      this.#giveUp({ notice, attempts: 0, reason })
      return
    }
    this.#pending += 1
    const name = keyText(notice.key)
    const before = this.#last.get(name) ?? Promise.resolve()
    const delivery = before
      .then(() => this.#deliver(notice))
      .finally(() => {
        this.#pending -= 1
        if (this.#last.get(name) === delivery) this.#last.delete(name)
      })
    this.#last.set(name, delivery)
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error(STOPPED))
    await Promise.all(this.#last.values())
  }

  async #deliver(notice: RequestNotice): Promise<void> {
    const { attempts = 10 } = this.#options
    const { signal } = this.#stop
    const { url, timeoutMs = 10_000 } = this.#options
    const message = { url, secret: this.#secret, ...messageOf(notice, this.#clock.now()) }
    for (let attempt = 1; ; attempt++) {
      if (signal.aborted) return this.#giveUp({ notice, attempts: attempt - 1, reason: STOPPED })
      const post = { ...this.#options, timeoutMs, signal }
      const failure = await signedPost({ ...message, now: this.#clock.now() }, post)
      if (failure === undefined) return
      if (attempt >= attempts || failure.isFinal)
        return this.#giveUp({ notice, attempts: attempt, reason: failure.reason })
      await this.#timer.wait(waitAfter(attempt), { signal, background: true })
    }
  }

  #giveUp(failure: WebhookFailure): void {
    const { onFailure } = this.#options
    if (onFailure === undefined) {
      warnOnce(`A webhook was given up after ${failure.attempts} attempts: ${failure.reason}`)
      return
    }
    callEmbedder('onFailure', () => onFailure(failure))
  }
}

const STOPPED = 'The host has stopped.'

interface Message {
  readonly id: string
  readonly body: string
}

/** The id is the same in every attempt and in every process: receivers drop repetitions by it. */
function messageOf({ key, requests }: RequestNotice, now: number): Message {
  const { tenant, actor, contextId } = key
  const ids = requests.map(({ requestId }) => requestId)
  const hash = createHash('sha256')
    .update(JSON.stringify([tenant, actor, contextId, ids]))
    .digest('hex')
  const at = new Date(now).toISOString()
  const data = { key: { tenant, actor, contextId }, requests }
  return {
    id: `msg_${hash.slice(0, 32)}`,
    body: JSON.stringify({ type: 'request.open', timestamp: at, data }),
  }
}

function invalid(message: string): HoldfastError {
  return new HoldfastError('invalid-option', { message })
}
