/** One turn in play: what it is given, what it has said, and what it has looked up on the way. */
import type { HookRegistry } from '../hook/index.ts'
import type { OpenTurn, Session } from '../journal/index.ts'
import type {
  Entry,
  EntryData,
  EntryType,
  Json,
  JsonObject,
  Message,
  NewEntry,
  UserContent,
} from '../protocol/index.ts'
import {
  type Credentials,
  checkTools,
  type PreviousTool,
  redact,
  secretsOf,
  type Tool,
} from '../tool/index.ts'
import { DEFAULT_LIMITS, type Limits, type TurnInfo } from './definition.ts'
import { Draft } from './draft.ts'
import { modelSecrets } from './model-secrets.ts'
import type { Batch, Next, TurnScope } from './scope.ts'

type Signals = Pick<TurnScope, 'signal' | 'stop'>

/** What was waited for did not come before the turn was cancelled, out of time, or with somebody else. */
export class Interrupted extends Error {}

export class Play {
  readonly scope: TurnScope
  readonly draft: Draft
  /** What was said last and could not be stored. */
  dropped: readonly NewEntry[] = []
  /** Ends the wait for the time limit, if there is one. */
  #over: AbortController | undefined
  #signals: Signals | undefined
  #interruption: Interruption | undefined
  #limits: Limits | undefined
  #info: Promise<TurnInfo> | undefined
  #tools: Promise<readonly Tool[]> | undefined
  #secrets: readonly string[] = []

  constructor(scope: TurnScope) {
    this.scope = scope
    this.draft = new Draft(scope)
  }

  get session(): Session {
    return this.draft.session
  }

  get open(): OpenTurn {
    return this.draft.open
  }

  get hooks(): HookRegistry {
    return this.scope.definition.hooks
  }

  get limits(): Limits {
    // JSON makes null of a limit that is infinite.
    const asked = Object.entries(this.open.limits ?? {}).filter(([, most]) => typeof most === 'number')
    const { limits } = this.scope.definition
    this.#limits ??= { ...DEFAULT_LIMITS, ...limits, ...(Object.fromEntries(asked) as Limits) }
    return this.#limits
  }

  /** What has come in and was not taken, oldest first. */
  get inbox(): readonly Entry[] {
    const { inbox } = this.scope.view
    return inbox.length === 0 ? inbox : inbox.filter(({ key }) => !this.draft.hasTaken(key))
  }

  /** For tools: aborts when the turn is cancelled or its time is up. */
  get signal(): AbortSignal {
    this.#signals ??= this.#watchTime()
    return this.#signals.signal
  }

  /** For thinking: aborts also when the turn has gone to another driver. */
  get stop(): AbortSignal {
    this.#signals ??= this.#watchTime()
    return this.#signals.stop
  }

  /** Makes what was said durable; what follows may rely on it. What cannot be stored was never said. */
  *commit(next: Next): Generator<Batch, void> {
    try {
      yield this.draft.batch(next)
    } catch (error) {
      this.drop()
      throw error
    }
    this.draft.settle()
  }

  /** Back to what is durable. */
  drop(): void {
    this.dropped = this.draft.batch('on').entries
    this.draft.settle()
  }

  /**
   * What the host looks up may never come; the turn does not wait for it longer than it lasts itself. Rejects with
   * `Interrupted` then. What has come already is taken in any case.
   */
  within<T>(work: Promise<T>): Promise<T> {
    this.#interruption ??= interruption(this.stop)
    return Promise.race([work, this.#interruption.promise])
  }

  /** Without the secrets that the turn knows (R19): of whoever asked, and of the models. */
  redacted<T extends Json>(value: T): T {
    const { models, compact } = this.scope.definition
    const asked = compact?.model === undefined ? models : [...models, compact.model]
    return redact(value, [...this.#secrets, ...modelSecrets(asked)])
  }

  /** The key of the cancel that ends this turn, if one has come. */
  cancelKey(): string | undefined {
    const { turn } = this.open
    return this.inbox.find((entry) => entry.type === 'cancel' && dataOf(entry, 'cancel').turn === turn)?.key
  }

  info(): Promise<TurnInfo> {
    return this.within(this.lookUp())
  }

  /** The same, for whoever waits for it in another way. */
  lookUp(): Promise<TurnInfo> {
    this.#info ??= this.#findInfo()
    return this.#info
  }

  credentials(): Promise<Credentials | undefined> {
    return this.within(this.#findCredentials())
  }

  tools(): Promise<readonly Tool[]> {
    this.#tools ??= this.#findTools()
    return this.within(this.#tools)
  }

  /** Calls of this turn that have come to an end, oldest first. */
  async previousTools(): Promise<readonly PreviousTool[]> {
    const entries = await this.scope.view.window()
    const names = new Map<string, string>()
    const previous: PreviousTool[] = []
    const current = this.open.turn
    const before = entries.findLastIndex(({ turn }) => turn > 0 && turn < current)
    for (const { type, turn, data } of entries.slice(before + 1)) {
      if (turn !== current) continue
      if (type === 'model.end')
        for (const part of (data as EntryData['model.end']).content)
          if (part.type === 'tool-call') names.set(part.callId, part.tool)
      if (type !== 'tool.end') continue
      const { callId, status } = data as EntryData['tool.end']
      const tool = names.get(callId)
      if (tool !== undefined) previous.push({ tool, status })
    }
    return previous
  }

  close(): void {
    this.#interruption?.leave()
    this.#over?.abort()
  }

  async #findCredentials(): Promise<Credentials | undefined> {
    const credentials = await this.scope.credentials(this.open.principal)
    if (credentials !== undefined) this.#secrets = secretsOf(credentials)
    return credentials
  }

  async #findTools(): Promise<readonly Tool[]> {
    const tools = await this.scope.definition.tools(await this.info())
    checkTools(tools)
    return tools
  }

  async #findInfo(): Promise<TurnInfo> {
    const { turn, principal, metadata = {} } = this.open
    const credentials = (await this.#findCredentials()) ?? {}
    const { contextId } = this.scope.key
    // The session has the same objects, and no tool may change those.
    const own = { principal: frozenCopy(principal), metadata: frozenCopy(metadata) }
    return { contextId, turn, ...own, credentials, task: await this.#task() }
  }

  /** What the turn was asked; for one that goes on without being asked, what was said last. */
  async #task(): Promise<string> {
    const entries = await this.scope.view.window()
    const current = this.open.turn
    const start = entries.findLast(({ type, turn }) => type === 'turn.start' && turn === current)
    const asked = (start?.takes ?? []).flatMap((taken) => {
      const entry = entries.findLast(({ seq }) => seq === taken)
      return entry?.type === 'input' ? [entry] : []
    })
    if (asked.length > 0) return asked.map((entry) => textOf(dataOf(entry, 'input').message)).join('\n')
    const messages = await this.scope.view.messages()
    return textOf(messages.findLast(isFromUser)?.content ?? '')
  }

  #watchTime(): Signals {
    const { durationMs } = this.limits
    if (durationMs === undefined) return this.scope
    const left = this.open.startedAt + durationMs - this.scope.clock.now()
    const [over, deadline] = [new AbortController(), new AbortController()]
    this.#over = over
    const waited = this.scope.timer.wait(Math.max(0, left), { signal: over.signal, background: true })
    void waited.then(() => over.signal.aborted || deadline.abort())
    const { signal } = deadline
    return {
      signal: AbortSignal.any([this.scope.signal, signal]),
      stop: AbortSignal.any([this.scope.stop, signal]),
    }
  }
}

/** The data of an entry that is known to be of this type. */
export function dataOf<T extends EntryType>(entry: Entry, type: T): EntryData[T] {
  if (entry.type !== type) throw new TypeError(`Entry ${entry.seq} is a ${entry.type}, not a ${type}.`)
  return entry.data as EntryData[T]
}

export function textOf(content: UserContent): string {
  if (typeof content === 'string') return content
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

function isFromUser(message: Message): message is Extract<Message, { role: 'user' }> {
  return message.role === 'user'
}

function frozenCopy<T extends Json>(value: T): T
function frozenCopy(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return Object.freeze((value as readonly Json[]).map((inner) => frozenCopy(inner)))
  const fields = Object.entries(value as JsonObject).map(([name, inner = null]) => [name, frozenCopy(inner)])
  return Object.freeze(Object.fromEntries(fields) as JsonObject)
}

interface Interruption {
  readonly promise: Promise<never>
  readonly leave: () => void
}

/** One listener for all that is waited for. */
function interruption(stop: AbortSignal): Interruption {
  const { promise, reject } = Promise.withResolvers<never>()
  promise.catch(() => {})
  const interrupt = (): void => reject(new Interrupted('The turn did not wait for it any longer.'))
  if (stop.aborted) interrupt()
  else stop.addEventListener('abort', interrupt, { once: true })
  return { promise, leave: () => stop.removeEventListener('abort', interrupt) }
}
