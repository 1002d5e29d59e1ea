/** One turn in play: what it is given, what it has said, and what it has looked up on the way. */
import type { OpenTurn, Session } from '../journal/index.ts'
import type { Entry, EntryData, EntryType, Message, UserContent } from '../protocol/index.ts'
import { type Credentials, checkTools, type PreviousTool, type Tool } from '../tool/index.ts'
import { DEFAULT_LIMITS, type Limits, type TurnInfo } from './definition.ts'
import { Draft } from './draft.ts'
import type { Batch, Next, TurnScope } from './scope.ts'

type Signals = Pick<TurnScope, 'signal' | 'stop'>

export class Play {
  readonly scope: TurnScope
  readonly draft: Draft
  /** The model asked for more calls than the turn may make. */
  overCalls = false
  /** Ends the wait for the time limit, if there is one. */
  #over: AbortController | undefined
  #signals: Signals | undefined
  #limits: Limits | undefined
  #info: Promise<TurnInfo> | undefined
  #tools: Promise<readonly Tool[]> | undefined

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

  get limits(): Limits {
    const asked = this.open.limits as Limits | undefined
    this.#limits ??= { ...DEFAULT_LIMITS, ...this.scope.definition.limits, ...asked }
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

  /** Makes what was said durable; what follows may rely on it. */
  *commit(next: Next): Generator<Batch, void> {
    yield this.draft.batch(next)
    this.draft.settle()
  }

  /** The key of the cancel that ends this turn, if one has come. */
  cancelKey(): string | undefined {
    const { turn } = this.open
    return this.inbox.find((entry) => entry.type === 'cancel' && dataOf(entry, 'cancel').turn === turn)?.key
  }

  info(): Promise<TurnInfo> {
    this.#info ??= this.#lookUp()
    return this.#info
  }

  async credentials(): Promise<Credentials | undefined> {
    return this.scope.credentials(this.open.principal)
  }

  tools(): Promise<readonly Tool[]> {
    this.#tools ??= this.#findTools()
    return this.#tools
  }

  /** Calls of this turn that have come to an end, oldest first. */
  async previousTools(): Promise<readonly PreviousTool[]> {
    const entries = await this.scope.view.window()
    const names = new Map<string, string>()
    const previous: PreviousTool[] = []
    const current = this.open.turn
    for (const { type, turn, data } of entries) {
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
    this.#over?.abort()
  }

  async #findTools(): Promise<readonly Tool[]> {
    const tools = await this.scope.definition.tools(await this.info())
    checkTools(tools)
    return tools
  }

  async #lookUp(): Promise<TurnInfo> {
    const { turn, principal, metadata = {} } = this.open
    const credentials = (await this.credentials()) ?? {}
    const { contextId } = this.scope.key
    return { contextId, turn, principal, credentials, metadata, task: await this.#task() }
  }

  /** What the turn was asked; for one that goes on without being asked, what was said last. */
  async #task(): Promise<string> {
    const entries = await this.scope.view.window()
    const start = entries.findLast(({ type, turn }) => type === 'turn.start' && turn === this.open.turn)
    const asked = entries.filter(({ seq, type }) => type === 'input' && start?.takes?.includes(seq))
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
