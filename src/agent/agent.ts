/**
 * The stateful shell of a conversation: decides which calls are allowed when. All state can be rebuilt from the journal.
 */
import { endsWithin, type MaybePromise, SHUTDOWN_GRACE_MS } from '../base/index.ts'
import {
  ANSWER_ORIGINS,
  type AnswerOrigins,
  answerRequest,
  busyError,
  CHILD_SCOPE,
  Conversation,
  checkUnkeyed,
  copyJson,
  type DriveResult,
  pausedError,
  refuseInside,
  requestFields,
  shutdownError,
  type TurnView as Turn,
} from '../drive/index.ts'
import {
  addImported,
  clearContext,
  forkContext,
  type ImportOptions,
  type ImportReceipt,
  importMessages,
  readTrace,
  type TraceOptions,
} from '../journal/index.ts'
import { type Continuation, type ParentIdJudge } from '../loop/index.ts'
import { flushLogs } from '../observe/index.ts'
import {
  type ActiveValue,
  type ArtifactInfo,
  checkOptions,
  childKey,
  defined,
  HoldfastError,
  type Json,
  type JsonObject,
  type Message,
  type NewInboxEntry,
  type Owner,
  type RequestData,
  type Selection,
  type TraceEntry,
} from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { memoryStore } from '../store/memory/index.ts'
import { type Artifacts, inputOrigin } from '../tool/index.ts'
import { contextPercent, type GivenAnswers, type MessageInput, tokenBudget, turnLoop } from '../turn/index.ts'
import { abandonChild } from './abandon-child.ts'
import { type AgentState, type KnownFailure, lastError } from './agent-state.ts'
import { type CancelOptions, cancel } from './cancel.ts'
import { type CompactOptions, checkCompact, compactNow } from './compact.ts'
import { type AgentConfig, type AgentSetup, setUp } from './config.ts'
import { checkQuery, type MessageQuery, readMessages } from './messages.ts'
import { FORK, type ForkOptions, SHUTDOWN, type ShutdownOptions, TRACE } from './method-options.ts'
import { onceReady } from './once-ready.ts'
import { outcomeText } from './outcome-text.ts'
import { saveState, saveStatus } from './save-state.ts'
import { type ActiveAtStart, activeAtStart, activeNow, type SelectionScope, select } from './select.ts'
import { type SessionView, sessionView } from './session-view.ts'
import type { AnswerOptions, NewInput, TurnOptions } from './turn-options.ts'
import { limitsToStore, parseInput, steersOutput, turnOptions, UNPROMPTED } from './turn-options.ts'
import { TurnSchemas } from './turn-schemas.ts'
import { turnScopes, withSystemRead } from './turn-scope.ts'

/** `Output`: the type of the config's `output`. */
export class Agent<Output = unknown> implements AsyncDisposable {
  readonly store: Store
  readonly #config: AgentConfig<Output>
  readonly #setup: AgentSetup
  #conversation: Conversation
  readonly #onceReady: () => MaybePromise<void>
  readonly #schemas = new TurnSchemas()
  #status: AgentState['status'] = 'created'
  #failure: KnownFailure | undefined
  /** The requested end state; new turns are refused from the moment it is set. */
  #closing: 'paused' | 'shutdown' | undefined
  #changing: Promise<void> = Promise.resolve()
  /** Conversations that a shutdown has left before their effects ended. */
  readonly #left = new WeakSet<Conversation>()
  #metadata: JsonObject | undefined
  #activeAtStart: ActiveAtStart | undefined
  /** The system prompt of the newest turn that ran here. */
  #system: string | undefined

  constructor(config: AgentConfig<Output>) {
    this.#config = config
    this.#setup = setUp(config)
    this.store = config.store ?? memoryStore()
    const { contextId, name } = this
    this.#onceReady = onceReady(this.#setup.definition.hooks, () => {
      const { turnCount, metadata } = this.state
      return { contextId, name, turnCount, metadata }
    })
    this.#conversation = this.#converse()
  }

  get contextId(): string {
    return this.#setup.key.contextId
  }

  get owner(): Owner {
    return this.#setup.owner
  }

  get name(): string {
    return this.#setup.name
  }

  get state(): AgentState {
    const { journal } = this.#conversation.driver
    const { session } = journal
    const runs = this.#status === 'ready' && this.#conversation.isBusy
    return {
      status: runs ? 'busy' : this.#status,
      turnCount: session.turn,
      ...(session.seq === 0
        ? {}
        : { createdAt: new Date(session.createdAt), lastActivity: new Date(session.at) }),
      ...defined({ error: lastError(journal, this.#failure) }),
      // The fold shares it.
      metadata: structuredClone(this.#metadata ?? session.metadata ?? this.#setup.metadata ?? {}),
    }
  }

  /** The running turn, if this agent knows of one. */
  get turn(): Turn<Output> | undefined {
    return this.#conversation.turn as Turn<Output> | undefined
  }

  /** A read-only view of the conversation at this moment. */
  get session(): SessionView {
    const { models, fixedSystem } = this.#setup.definition
    const system = this.#system ?? fixedSystem
    const { journal } = this.#conversation.driver
    return sessionView({ journal, models, ...defined({ system }) })
  }

  /**
   * How full the model's context is: the provider's last token count plus an estimate of everything since. Undefined if
   * the model's context size is unknown or nothing is loaded yet.
   */
  get contextPercent(): number | undefined {
    const { journal } = this.#conversation.driver
    return journal.isLoaded ? contextPercent(journal.windowEntries, this.#setup.definition.models) : undefined
  }

  get artifacts(): Artifacts {
    return this.#conversation.driver.artifacts
  }

  /**
   * Loads the conversation. A turn that another process drives is followed (`turn`); an open turn without a driver is
   * resumed. A no-op on a started agent; after `pause` or `shutdown` it reloads from the journal.
   */
  async start(): Promise<void> {
    this.#closing = undefined
    await this.#change(async () => {
      if (this.#status === 'ready') return
      if (this.#status === 'shutdown') this.#conversation = this.#converse()
      const conversation = this.#conversation
      this.#status = 'starting'
      try {
        await conversation.attach()
        this.#activeAtStart = await activeAtStart(this.#selectionScope)
        this.#become('ready', conversation)
      } catch (error) {
        this.#become('created', conversation)
        throw error
      }
    })
  }

  /** A change that ends after a shutdown has left its conversation changes nothing. */
  #become(status: AgentState['status'], conversation: Conversation): void {
    if (!this.#left.has(conversation)) this.#status = status
  }

  /** Runs lifecycle changes one at a time, in the order of the calls. */
  async #change(work: () => Promise<void>): Promise<void> {
    const changing = this.#changing.then(work)
    this.#changing = changing.catch(() => {})
    await changing
  }

  /**
   * Runs one turn: from a message, or from `null` to continue the last turn. Starts at once and returns the turn's event
   * stream and outcome. Never throws: a turn that cannot start has one event, `turn.refused`, and the outcome `failed`.
   */
  executeTurn<T = Output>(message: MessageInput | null, options: TurnOptions<T> = {}): Turn<T> {
    try {
      const parsed = turnOptions('executeTurn()', options)
      checkUnkeyed(message, parsed.key)
      const sender = this.#sender(parsed)
      const { whileBusy = this.#setup.whileBusy } = parsed
      if (whileBusy !== 'steer') this.#refuseInside('executeTurn')
      else if (parsed.output !== undefined) throw steersOutput()
      const { [UNPROMPTED]: isUnprompted = false } = parsed as { readonly [UNPROMPTED]?: boolean }
      if (message === null) return this.#begin(parsed, { continuing: sender, isUnprompted })
      const { key = this.#setup.ids.next('input') } = parsed
      if (parsed.output !== undefined) this.#schemas.keep(key, parsed.output)
      const input = { message: parseInput(message), sender: { ...sender, ...inputOrigin() }, key, whileBusy }
      const repeats = parsed.key === undefined ? {} : { repeats: parsed.key }
      return this.#begin(parsed, { keys: [key], ...repeats, posts: (busy) => this.#input(input, busy) })
    } catch (error) {
      return this.#conversation.refused(error) as Turn<T>
    }
  }

  /**
   * Text in, text out: returns the turn's last text, or the question that ended it. After a limit, the first line names
   * it: `Task incomplete: maximum iterations (10) reached.`; after a hook that stopped the turn, it names the hook and
   * the reason. Throws if the turn fails or is cancelled.
   */
  async input(text: string, options: TurnOptions = {}): Promise<string> {
    const outcome = await this.executeTurn(text, options).outcome
    if (outcome.status !== 'failed' && outcome.status !== 'cancelled') return outcomeText(outcome)
    const { code = outcome.reason, message = `The turn was ${outcome.reason}.` } = outcome.error ?? {}
    throw new HoldfastError(outcome.status === 'cancelled' ? 'cancelled' : 'turn-failed', {
      message,
      details: { code, turn: outcome.turn },
      cause: outcome.cause,
    })
  }

  /** Answers some or all open requests by their ids. The answered calls continue in a new turn. */
  answer<T = Output>(answers: Readonly<Record<string, Json>>, options: AnswerOptions<T> = {}): Turn<T> {
    try {
      const parsed = turnOptions('answer()', options)
      this.#refuseInside('answer')
      const { [ANSWER_ORIGINS]: origins } = parsed as { readonly [ANSWER_ORIGINS]?: AnswerOrigins }
      const ports = { ...this.#setup, ...defined({ origins, idempotencyKey: parsed.key }) }
      return this.#begin(parsed, answerRequest(answers, { ...this.#sender(parsed) }, ports))
    } catch (error) {
      return this.#conversation.refused(error) as Turn<T>
    }
  }

  /** Requests that wait for an answer, oldest first. */
  async requests(): Promise<readonly RequestData[]> {
    return this.#conversation.requests()
  }

  /**
   * The newest turn, replayed from the journal; undefined if there is none. A turn that another process drives is
   * followed to its end, and taken over if that process is gone; a paused turn waits for `start()` or `resume()`.
   */
  async lastTurn(): Promise<Turn<Output> | undefined> {
    const refusal = this.#status === 'shutdown' ? shutdownError(this.contextId) : undefined
    return (await this.#conversation.lastTurn(refusal)) as Turn<Output> | undefined
  }

  /**
   * Advances by one model call or one round of tools, for an external engine that calls repeatedly. The work comes from
   * the journal: a posted input, an open turn, an expired request. Does nothing while the agent is paused or shut down.
   */
  async drive(): Promise<DriveResult> {
    this.#refuseInside('drive')
    return this.#conversation.drive()
  }

  /** Stops between two effects, and stays stopped until `resume` or `start`. The turn stays open. */
  async pause(): Promise<void> {
    this.#refuseInside('pause')
    this.#closing ??= 'paused'
    await this.#change(async () => {
      if (this.#status === 'paused' || this.#status === 'shutdown') return
      const conversation = this.#conversation
      try {
        await conversation.stop('pause')
        if (!this.#left.has(conversation)) await this.#save('paused')
      } finally {
        // Paused even if another process drives, or the store is full and the state is not saved.
        this.#become('paused', conversation)
      }
    })
  }

  /** Continues after `pause`. After `shutdown`, rejects with `shutdown`: call `start` instead. */
  async resume(): Promise<void> {
    if ((this.#closing ?? this.#status) === 'shutdown') throw shutdownError(this.contextId)
    if (this.#status === 'paused' || this.#closing === 'paused') await this.start()
  }

  /**
   * Stops like `pause`, gives up a model call under way, and releases the turn: this agent may continue after `start`, or
   * another process at once. `save: false` leaves out the entry that records it, for hosts that close conversations often.
   * Effects and functions of the config that have not ended after `graceMs` are left: the turn stays owned until they end.
   */
  async shutdown(options: ShutdownOptions = {}): Promise<void> {
    checkOptions(options, SHUTDOWN)
    this.#refuseInside('shutdown')
    this.#closing = 'shutdown'
    const { save = true, graceMs = SHUTDOWN_GRACE_MS } = options
    const closed = this.#change(async () => {
      if (this.#status === 'shutdown') return
      const conversation = this.#conversation
      try {
        await conversation.stop('release')
        if (save && !this.#left.has(conversation)) await this.#save('shutdown')
        else await conversation.driver.ownership.flush()
      } finally {
        this.#close(conversation)
      }
    })
    if (!(await endsWithin(closed, graceMs, this.#setup.timer))) this.#leave()
  }

  #close(conversation: Conversation): void {
    conversation.close(shutdownError(this.contextId))
    flushLogs()
    this.#become('shutdown', conversation)
  }

  /**
   * Closes the conversation while functions of the user hang. Its driver keeps the turn owned; when they end, it stores their results
   * and releases the turn. Changes to come do not wait for them.
   */
  #leave(): void {
    // `start` was called since.
    if (this.#closing !== 'shutdown') return
    this.#close(this.#conversation)
    this.#left.add(this.#conversation)
    this.#changing = Promise.resolve()
  }

  /** `await using agent = new Agent(…)` shuts it down at the end of its block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown()
  }

  /** Cancels the running turn, or `turn` and no other, whichever process drives it. */
  async cancel(reason?: string, options: CancelOptions = {}): Promise<void> {
    await cancel(this.#conversation, reason, options)
  }

  /** Drops the messages, active values and artifacts. Waits for the turn that runs here. */
  async clear(): Promise<void> {
    const { key } = this.#setup
    await this.#between('clear', async () => (await this.store.head(key)) && clearContext(this.store, key))
    this.#activeAtStart = await activeAtStart(this.#selectionScope)
  }

  /** Selects an active value: `await agent.select(project.select('p-7', { label: 'Champigny' }))`. */
  async select(...selections: readonly Selection[]): Promise<readonly ActiveValue[]> {
    await this.#between('select', () => select(this.#selectionScope, selections))
    this.#activeAtStart = undefined
    return this.active
  }

  /** The unexpired active values, as of `start()` or this agent's newest turn. */
  get active(): readonly ActiveValue[] {
    return activeNow(this.#conversation.driver, this.#setup, this.#activeAtStart)
  }

  get #selectionScope(): SelectionScope {
    const { driver } = this.#conversation
    return { driver, store: this.store, setup: this.#setup, principal: this.#setup.owner }
  }

  /**
   * Shrinks the window to about `keep` messages (default: half of `maxMessages`). False if nothing could be cut or the
   * summary failed: a `warning` says why. Waits for the turn that runs here; rejects with `owned` while another process
   * drives, before a summary is paid for.
   */
  async compact(options: CompactOptions = {}): Promise<boolean> {
    checkCompact(options)
    return this.#between('compact', () => compactNow(this.#conversation.driver, this.#setup, options))
  }

  /**
   * Imports messages in another framework's format, repaired where necessary, at most once. Waits for the turn that
   * runs here; rejects with `in-use` if the conversation waits for an answer.
   */
  async importMessages(history: unknown, options: ImportOptions = {}): Promise<ImportReceipt> {
    const { key, parent } = this.#setup
    const imported = importMessages(history, options)
    const request = { imported, ...inputOrigin(), ...defined({ parent }) }
    return this.#between('importMessages', () => addImported(this.store, key, request))
  }

  /** Creates a new conversation from this one's history, up to its end or to entry `at`. */
  async fork(contextId: string, options: ForkOptions = {}): Promise<Agent<Output>> {
    checkOptions(options, FORK)
    const { at } = options
    await this.#conversation.driver.ownership.flush()
    await forkContext(this.store, this.#setup.key, { contextId, ...defined({ at }) })
    return new Agent({ ...this.#config, store: this.store, contextId })
  }

  /**
   * The newest messages that match the query, oldest first; fewer than requested only where a round would be split.
   * Without a query: the window, as a model would see it now. `{ maxMessages: Infinity }` returns everything that was
   * not cleared or compacted.
   */
  async getMessages(query: MessageQuery = {}): Promise<readonly Message[]> {
    checkQuery('getMessages()', query)
    return readMessages(this.#conversation.driver, this.#setup, query)
  }

  /**
   * The trace from the journal: inputs, model calls, tools, changes of hooks, outcomes. Of one turn, at the cost of that
   * turn; without one, of the whole conversation.
   */
  async trace(options: TraceOptions = {}): Promise<readonly TraceEntry[]> {
    checkOptions(options, TRACE)
    await this.#conversation.driver.ownership.flush()
    return readTrace(this.store, this.#setup.key, options)
  }

  getArtifacts(): Promise<readonly ArtifactInfo[]> {
    return this.artifacts.list()
  }

  /** Makes all buffered entries durable, and the metadata. */
  async saveState(metadata?: JsonObject): Promise<void> {
    if (metadata !== undefined) this.#metadata = copyJson('metadata', metadata)
    await this.#save()
  }

  async #save(status?: 'paused' | 'shutdown'): Promise<void> {
    const { driver } = this.#conversation
    await driver.ownership.flush()
    const { metadata: initial, parent } = this.#setup
    const saved = this.#metadata
    // A sub-agent has the lifetime of its call, so it stores no status.
    if (saved !== undefined || status === undefined) await saveState(driver, { saved, initial })
    else if (parent === undefined && this.#status !== 'created') await saveStatus(driver, { status, initial })
    // A later call may have set other metadata meanwhile.
    if (this.#metadata === saved) this.#metadata = undefined
  }

  /** A tool that waits for its own turn would deadlock: the turn waits for the tool. */
  #refuseInside(method: string): void {
    refuseInside(this.store, this.#setup.key, method)
  }

  async #between<T>(method: string, work: () => Promise<T>): Promise<T> {
    this.#refuseInside(method)
    const conversation = this.#conversation
    await conversation.whenIdle()
    return conversation.between(async () => {
      const { ownership } = conversation.driver
      await ownership.flush()
      const result = await work()
      // The work wrote to the store directly; `session` and `state` read the journal state.
      await ownership.refresh()
      return result
    })
  }

  #begin<T>(options: TurnOptions, request: Parameters<Conversation['ask']>[1]): Turn<T> {
    const closed = this.#closing ?? this.#status
    if (closed === 'shutdown') throw shutdownError(this.contextId)
    if (closed === 'paused') throw pausedError(this.contextId)
    const turn = this.#conversation.ask(options, request)
    if (this.#status === 'created') this.#status = 'ready'
    return turn as Turn<T>
  }

  #sender({ limits, output, ...options }: TurnOptions): Continuation {
    return requestFields(this.owner, {
      ...options,
      ...(limits === undefined ? {} : { limits: limitsToStore(limits) }),
      ...(output === undefined ? {} : { outputSchema: this.#schemas.add(output) }),
    })
  }

  #input({ message, sender, key, whileBusy }: NewInput, busy?: number): readonly NewInboxEntry[] {
    if (busy !== undefined && whileBusy === 'reject') throw busyError(this.contextId, busy)
    // Set whether or not a turn runs: a re-sent input must be identical under its key.
    const steer = whileBusy === 'steer' ? { steer: true } : {}
    const post: NewInboxEntry = { type: 'input', key, data: { message, ...sender, ...steer } }
    if (busy === undefined || whileBusy !== 'interrupt') return [post]
    return [this.#conversation.cancelPost(busy, 'interrupted'), post]
  }

  #converse(): Conversation {
    const { name, maxMessages, maxTokens, metadata, artifacts } = this.#setup
    const definition = withSystemRead(this.#setup.definition, (text) => {
      this.#system = text
    })
    const schemaNamed = this.#schemas.named
    const extras = (ids: ParentIdJudge, answers?: GivenAnswers) => ({
      [CHILD_SCOPE]: { ...this.#conversation.childScope(this.#setup.definition.limits), ids, ...answers },
    })
    const scopeOf = turnScopes({ agent: name, definition, metadata, extras, schemaNamed, artifacts })
    return new Conversation({
      ...this.#setup,
      observed: { name, kind: 'agent' },
      store: this.store,
      allow: this.#config.allow,
      run: (scope, journal) => turnLoop(scopeOf(scope, journal)),
      window: async () => ({ maxMessages, ...(await tokenBudget(maxTokens)) }),
      abandoned: (callId) => void this.#abandon(callId).catch(() => {}),
      ...defined({ credentials: this.#config.credentials }),
      onLoaded: this.#onceReady,
      onOutcome: ({ turn, error }) => {
        if (turn > 0) this.#failure = error === undefined ? undefined : { turn, error }
      },
    })
  }

  #abandon(callId: string): Promise<void> {
    const { config } = this.#conversation.childScope(this.#setup.definition.limits)
    const key = childKey(this.#setup.key, callId)
    return abandonChild(this.store, key, () => new Agent({ ...config, contextId: key.contextId }))
  }
}
