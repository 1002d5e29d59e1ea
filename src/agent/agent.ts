/**
 * The stateful shell: a conversation with a life. It decides what may be asked when; what is said and done is in the
 * journal, and everything that this object knows can be had again from there.
 */
import { chain } from '../base/index.ts'
import {
  type AnswerOrigins,
  answerRequest,
  CHILD_SCOPE,
  Conversation,
  checkReason,
  copyJson,
  type DriveResult,
  HANDED_DOWN,
  isBusy,
  isPaused,
  isShutDown,
  refuseInside,
  requestFields,
  type TurnView as Turn,
  type TurnError,
  type TurnOutcome,
} from '../drive/index.ts'
import {
  addImported,
  clearContext,
  forkContext,
  type ImportOptions,
  type ImportReceipt,
  importMessages,
} from '../journal/index.ts'
import { type Continuation, type IdsAbove } from '../loop/index.ts'
import {
  type ActiveValue,
  type ArtifactInfo,
  checkOptions,
  childKey,
  defined,
  HoldfastError,
  type Json,
  type JsonObject,
  limitText,
  type Message,
  type NewInboxEntry,
  type OptionSet,
  type Owner,
  type RequestData,
  type Selection,
} from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { memoryStore } from '../store/memory/index.ts'
import { type Artifacts, inputOrigin } from '../tool/index.ts'
import {
  contextPercent,
  type GivenAnswers,
  type MessageInput,
  runReadyHooks,
  type TurnDefinition,
  tokenBudget,
  turnLoop,
} from '../turn/index.ts'
import { abandonChild } from './abandon-child.ts'
import { type CompactOptions, checkCompact, compactNow } from './compact.ts'
import { type AgentConfig, type AgentSetup, setUp } from './config.ts'
import { checkQuery, type MessageQuery, readMessages } from './messages.ts'
import { saveState, saveStatus } from './save-state.ts'
import { type ActiveAtStart, activeAtStart, activeNow, type Choosing, select } from './selecting.ts'
import { type SessionView, sessionView } from './session-view.ts'
import { parseInput, type Said, storedLimits, type TurnOptions, turnOptions } from './turn-options.ts'
import { turnScope } from './turn-scope.ts'

export interface AgentState {
  /** `busy` while a turn runs here or is followed from here. */
  readonly status: 'created' | 'starting' | 'ready' | 'busy' | 'paused' | 'shutdown'
  /** Turns begun by anybody, as far as this agent has looked. */
  readonly turnCount: number
  readonly createdAt?: Date
  readonly lastActivity?: Date
  /** Why the last turn failed. It does not keep the next one from being tried. */
  readonly error?: TurnError
  readonly metadata: JsonObject
}

export interface ForkOptions {
  /** The last entry that the fork has; the newest unless said otherwise. */
  readonly at?: number
}

const FORK: OptionSet<ForkOptions> = { place: 'fork()', options: { at: 'a number' } }

function textOf(outcome: TurnOutcome): string {
  const said = outcome.text || outcome.requests.map(({ prompt }) => prompt).join('\n')
  const { limit, stopped } = outcome
  if (stopped !== undefined) return `Task incomplete: ${stoppedText(stopped)}.\n${said}`.trim()
  if (limit === undefined) return said
  return `Task incomplete: maximum ${limitText(outcome)} reached.\n${said}`.trim()
}

function stoppedText({ by, reason }: NonNullable<TurnOutcome['stopped']>): string {
  return `stopped by ${by}${reason === undefined ? '' : ` (${reason})`}`
}

export class Agent {
  readonly store: Store
  readonly #config: AgentConfig
  readonly #setup: AgentSetup
  #conversation: Conversation
  #status: AgentState['status'] = 'created'
  #error: TurnError | undefined
  /** What it was told to become; turns are refused from that moment on. */
  #closing: 'paused' | 'shutdown' | undefined
  #changing: Promise<void> = Promise.resolve()
  #metadata: JsonObject | undefined
  #readying: Promise<void> | undefined
  #isReady = false
  #activeAtStart: ActiveAtStart | undefined
  /** The system prompt of the newest turn that was played here. */
  #system: string | undefined

  constructor(config: AgentConfig) {
    this.#config = config
    this.#setup = setUp(config)
    this.store = config.store ?? memoryStore()
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
    const { session } = this.#conversation.driver.journal
    const runs = this.#status === 'ready' && this.#conversation.isBusy
    return {
      status: runs ? 'busy' : this.#status,
      turnCount: session.turn,
      ...(session.seq === 0
        ? {}
        : { createdAt: new Date(session.createdAt), lastActivity: new Date(session.at) }),
      ...(this.#error === undefined ? {} : { error: this.#error }),
      metadata: this.#metadata ?? session.metadata ?? this.#setup.metadata ?? {},
    }
  }

  /** The turn that runs, if one does and this agent knows of it. */
  get turn(): Turn | undefined {
    return this.#conversation.turn
  }

  /** What the conversation looks like at this moment, to read. */
  get session(): SessionView {
    const { models, fixedSystem } = this.#setup.definition
    const system = this.#system ?? fixedSystem
    const { journal } = this.#conversation.driver
    return sessionView({ journal, models, ...defined({ system }) })
  }

  /**
   * How full the context of the model is: what the provider counted last, and an estimate of what came since. Undefined
   * if nobody has said how many tokens the model can be sent, or nothing was loaded yet.
   */
  get contextPercent(): number | undefined {
    const { journal } = this.#conversation.driver
    return journal.isLoaded ? contextPercent(journal.windowEntries, this.#setup.definition.models) : undefined
  }

  get artifacts(): Artifacts {
    return this.#conversation.driver.artifacts
  }

  /**
   * Loads the conversation. A turn that another process drives is followed (`turn`); one that nobody drives is taken up.
   * Starting a started agent does nothing; starting one that was paused or shut down begins again from the journal.
   */
  async start(): Promise<void> {
    this.#closing = undefined
    await this.#change(async () => {
      if (this.#status === 'ready') return
      if (this.#status === 'shutdown') this.#conversation = this.#converse()
      this.#status = 'starting'
      try {
        await this.#conversation.attach()
        this.#activeAtStart = await activeAtStart(this.#choosing)
        this.#status = 'ready'
      } catch (error) {
        this.#status = 'created'
        throw error
      }
    })
  }

  /** What was asked for first is done first, and to its end. */
  async #change(work: () => Promise<void>): Promise<void> {
    const changing = this.#changing.then(work)
    this.#changing = changing.catch(() => {})
    await changing
  }

  /**
   * One turn: from a message, or from `null` to go on where the last one stopped. It starts at once, and what is
   * returned is the stream of its events and its outcome. It never throws: a turn that cannot be begun has one event,
   * `turn.refused`, and the outcome `failed`.
   */
  executeTurn(message: MessageInput | null, given: TurnOptions = {}): Turn {
    try {
      const options = turnOptions('executeTurn()', given)
      const asked = this.#asked(options)
      const { whileBusy = this.#setup.whileBusy } = options
      if (whileBusy !== 'steer') this.#refuseInside('executeTurn')
      if (message === null) return this.#begin(options, { continuing: asked })
      const { key = this.#setup.ids.next('input') } = options
      const said = { message: parseInput(message), asked: { ...asked, ...inputOrigin() }, key, whileBusy }
      const repeats = options.key === undefined ? {} : { repeats: options.key }
      return this.#begin(options, { keys: [key], ...repeats, posts: (busy) => this.#input(said, busy) })
    } catch (error) {
      return this.#conversation.refused(error)
    }
  }

  /**
   * Text in, text out: the last thing said in the turn, or the question that it ended with. After a limit, a first line says
   * which one: `Task incomplete: maximum iterations (10) reached.`, and after a hook that stopped it, which one and why. Throws if the turn fails or was cancelled.
   */
  async input(text: string, options: TurnOptions = {}): Promise<string> {
    const outcome = await this.executeTurn(text, options).outcome
    if (outcome.status !== 'failed' && outcome.status !== 'cancelled') return textOf(outcome)
    const { code = outcome.reason, message = `The turn was ${outcome.reason}.` } = outcome.error ?? {}
    throw new HoldfastError(outcome.status === 'cancelled' ? 'cancelled' : 'turn-failed', {
      message,
      details: { code, turn: outcome.turn },
      cause: outcome.cause,
    })
  }

  /** Answers requests by their ids, all of them or some. What was answered goes on in a turn of its own. */
  answer(answers: Readonly<Record<string, Json>>, given: Omit<TurnOptions, 'whileBusy' | 'key'> = {}): Turn {
    try {
      const options = turnOptions('answer()', given)
      this.#refuseInside('answer')
      const { [HANDED_DOWN]: origins } = options as { readonly [HANDED_DOWN]?: AnswerOrigins }
      const ports = { ...this.#setup, ...defined({ origins }) }
      return this.#begin(options, answerRequest(answers, { ...this.#asked(options) }, ports))
    } catch (error) {
      return this.#conversation.refused(error)
    }
  }

  /** What waits for an answer, oldest first. */
  async requests(): Promise<readonly RequestData[]> {
    return this.#conversation.requests()
  }

  /**
   * The newest turn, told again from the journal; undefined if there has been none. One that another process drives is
   * followed to its end, and taken over if that process is gone; one that was paused waits for `start()` or `resume()`.
   */
  lastTurn(): Promise<Turn | undefined> {
    const { contextId } = this
    return this.#conversation.lastTurn(this.#status === 'shutdown' ? isShutDown(contextId) : undefined)
  }

  /**
   * Goes on by one model call or one round of tools, for an engine that calls again. What is to be done comes from the
   * journal: an input that anybody posted, an open turn, a request that has expired.
   */
  async drive(): Promise<DriveResult> {
    this.#refuseInside('drive')
    return this.#conversation.drive()
  }

  /** Stops at the next point between two effects, and stays there until `resume` or `start`. The turn stays open. */
  async pause(): Promise<void> {
    this.#refuseInside('pause')
    this.#closing ??= 'paused'
    await this.#change(async () => {
      if (this.#status === 'paused' || this.#status === 'shutdown') return
      try {
        await this.#conversation.stop('pause')
        await this.#save('paused')
      } finally {
        // Stopped it is, even if somebody else drives or the store is full and the state is not saved.
        this.#status = 'paused'
      }
    })
  }

  /** Goes on after `pause`. Rejects with `shutdown` after `shutdown`: then it takes `start`. */
  async resume(): Promise<void> {
    if ((this.#closing ?? this.#status) === 'shutdown') throw isShutDown(this.contextId)
    if (this.#status === 'paused' || this.#closing === 'paused') await this.start()
  }

  /** Stops like `pause`, but for anybody to go on: this agent after `start`, or another process. */
  async shutdown(): Promise<void> {
    this.#refuseInside('shutdown')
    this.#closing = 'shutdown'
    await this.#change(async () => {
      if (this.#status === 'shutdown') return
      try {
        await this.#conversation.stop('release')
        await this.#save('shutdown')
      } finally {
        this.#conversation.close(isShutDown(this.contextId))
        this.#status = 'shutdown'
      }
    })
  }

  /** Ends the turn that runs, whichever process drives it. */
  async cancel(reason?: string): Promise<void> {
    checkReason(reason)
    await this.#conversation.cancel(reason)
  }

  /** Forgets what was said and chosen, and the artifacts. Waits for the turn that runs here. */
  async clear(): Promise<void> {
    const { key } = this.#setup
    await this.#between('clear', async () => (await this.store.head(key)) && clearContext(this.store, key))
    this.#activeAtStart = await activeAtStart(this.#choosing)
  }

  /** Makes something the chosen one: `await agent.select(project.select('p-7', { label: 'Champigny' }))`. */
  async select(...selections: readonly Selection[]): Promise<readonly ActiveValue[]> {
    await this.#between('select', () => select(this.#choosing, selections))
    this.#activeAtStart = undefined
    return this.active
  }

  /** The active values that have not expired, as of `start()` or the newest turn of this agent. */
  get active(): readonly ActiveValue[] {
    return activeNow(this.#conversation.driver, this.#setup, this.#activeAtStart)
  }

  get #choosing(): Choosing {
    const { driver } = this.#conversation
    return { driver, store: this.store, setup: this.#setup, principal: this.#setup.owner }
  }

  /**
   * Makes room: leaves about `keep` messages in the window, half of `maxMessages` unless said otherwise. False if there was
   * nothing to gain, or no summary could be had: then nothing was cut, and a `warning` says why. Waits for the turn that
   * runs here; rejects with `owned` while another process drives, before a summary is paid for.
   */
  async compact(options: CompactOptions = {}): Promise<boolean> {
    checkCompact(options)
    let done = false
    await this.#between('compact', async () => {
      done = await compactNow(this.#conversation.driver, this.#setup, options)
    })
    return done
  }

  /**
   * Adds what was said elsewhere, in another framework's format: repaired where it must be, and only once. Waits for the
   * turn that runs here; rejects with `in-use` if the conversation waits for an answer.
   */
  async importMessages(history: unknown, options: ImportOptions = {}): Promise<ImportReceipt> {
    const { key, parent } = this.#setup
    const imported = importMessages(history, options)
    const request = { imported, ...inputOrigin(), ...defined({ parent }) }
    const done = Promise.withResolvers<ImportReceipt>()
    await this.#between('importMessages', async () =>
      done.resolve(await addImported(this.store, key, request)),
    )
    return done.promise
  }

  /** A conversation of its own that begins with this one's history, up to its end or to entry `at`. */
  async fork(contextId: string, options: ForkOptions = {}): Promise<Agent> {
    checkOptions(options, FORK)
    const { at } = options
    await this.#conversation.driver.ownership.flush()
    await forkContext(this.store, this.#setup.key, { contextId, ...defined({ at }) })
    return new Agent({ ...this.#config, store: this.store, contextId })
  }

  /**
   * The newest messages that fit the query, oldest first, as many as were asked for unless a round would be split. Without
   * a query: the window, which is what a model would be shown now. `{ maxMessages: Infinity }` for everything that was not
   * cleared or compacted away.
   */
  async getMessages(query: MessageQuery = {}): Promise<readonly Message[]> {
    checkQuery('getMessages()', query)
    return readMessages(this.#conversation.driver, this.#setup, query)
  }

  getArtifacts(): Promise<readonly ArtifactInfo[]> {
    return this.artifacts.list()
  }

  /** Makes everything durable that is held back, and the metadata. */
  async saveState(metadata?: JsonObject): Promise<void> {
    if (metadata !== undefined) this.#metadata = copyJson('metadata', metadata)
    await this.#save()
  }

  async #save(status?: 'paused' | 'shutdown'): Promise<void> {
    const { driver } = this.#conversation
    await driver.ownership.flush()
    const { metadata: initial, parent } = this.#setup
    const saved = this.#metadata
    // A sub-agent comes and goes with the call that it serves.
    if (saved !== undefined || status === undefined) await saveState(driver, { saved, initial })
    else if (parent === undefined && this.#status !== 'created') await saveStatus(driver, { status, initial })
    this.#metadata = undefined
  }

  /** The turn that runs waits for its tool: a tool that waits for the turn would wait for ever. */
  #refuseInside(what: string): void {
    refuseInside(this.store, this.#setup.key, what)
  }

  async #between(what: string, work: () => Promise<unknown>): Promise<void> {
    this.#refuseInside(what)
    const conversation = this.#conversation
    await conversation.whenIdle()
    await conversation.between(async () => {
      const { driver } = conversation
      await driver.ownership.flush()
      await work()
      // Written past the journal, which `session` and `state` are read from.
      await driver.ownership.refresh()
    })
  }

  #begin(asking: TurnOptions, request: Parameters<Conversation['ask']>[1]): Turn {
    const closed = this.#closing ?? this.#status
    if (closed === 'shutdown') throw isShutDown(this.contextId)
    if (closed === 'paused') throw isPaused(this.contextId)
    const turn = this.#conversation.ask(asking, request)
    if (this.#status === 'created') this.#status = 'ready'
    return turn
  }

  #asked({ limits, ...asking }: TurnOptions): Continuation {
    return requestFields(this.owner, {
      ...asking,
      ...(limits === undefined ? {} : { limits: storedLimits(limits) }),
    })
  }

  #input({ message, asked, key, whileBusy }: Said, busy: number | undefined): readonly NewInboxEntry[] {
    if (busy !== undefined && whileBusy === 'reject') throw isBusy(this.contextId, busy)
    // Whether or not a turn runs: sent again under its key, it must be the same.
    const steer = whileBusy === 'steer' ? { steer: true } : {}
    const input: NewInboxEntry = { type: 'input', key, data: { message, ...asked, ...steer } }
    if (busy === undefined || whileBusy !== 'interrupt') return [input]
    return [this.#conversation.cancelPost(busy, 'interrupted'), input]
  }

  #converse(): Conversation {
    const { maxMessages, maxTokens, metadata } = this.#setup
    const own = metadata === undefined ? {} : { metadata }
    const definition = this.#remembering(this.#setup.definition)
    const extras = (ids: IdsAbove, told?: GivenAnswers) => ({
      [CHILD_SCOPE]: { ...this.#conversation.childScope(this.#setup.definition.limits), ids, ...told },
    })
    return new Conversation({
      ...this.#setup,
      store: this.store,
      allow: this.#config.allow,
      run: (scope, journal) => turnLoop(turnScope(scope, journal, { ...own, definition, extras })),
      window: async () => ({ maxMessages, ...(await tokenBudget(maxTokens)) }),
      abandoned: (callId) => void this.#abandon(callId).catch(() => {}),
      ...(this.#config.credentials === undefined ? {} : { credentials: this.#config.credentials }),
      onLoaded: () => {
        this.#readying ??= this.#getReady()
        return this.#isReady ? undefined : this.#readying
      },
      onOutcome: ({ turn, error }) => {
        if (turn > 0) this.#error = error
      },
    })
  }

  #remembering(definition: TurnDefinition): TurnDefinition {
    const system: TurnDefinition['system'] = (turn) =>
      chain(definition.system(turn), (text) => {
        this.#system = text
        return text
      })
    return { ...definition, system }
  }

  /** Once in its life, unless it fails: then the next one who needs the agent tries again. */
  async #getReady(): Promise<void> {
    const { key, name, definition } = this.#setup
    try {
      await runReadyHooks(definition.hooks, {
        contextId: key.contextId,
        name,
        turnCount: this.state.turnCount,
        metadata: this.state.metadata,
      })
      this.#isReady = true
    } catch (error) {
      this.#readying = undefined
      throw error
    }
  }

  #abandon(callId: string): Promise<void> {
    const { config } = this.#conversation.childScope(this.#setup.definition.limits)
    const key = childKey(this.#setup.key, callId)
    return abandonChild(this.store, key, () => new Agent({ ...config, contextId: key.contextId }))
  }
}
