/**
 * A session of an editor: prompts become turns, entries become updates, requests become questions to the person.
 *
 * A session with an agent is one conversation. A session with a graph is a conversation for each prompt, `ID`, `ID.2`,
 * `ID.3`, because each prompt is a run from the start; `graphInput` gets the state of the one before.
 */
import type { AgentContext, ContentBlock, SessionUpdate, StopReason } from '@agentclientprotocol/sdk'
import type { ConversationInfo, Host, HostedTurn } from '../../host/index.ts'
import {
  type ContextKey,
  type EntryData,
  type FilePart,
  HoldfastError,
  isWaiting,
  type Json,
  type JsonObject,
  LOCAL_OWNER,
  type RequestData,
  type TextPart,
} from '../../protocol/index.ts'
import { answerFrom } from '../../tool/index.ts'
import { type ConversationPart, ConversationParts } from '../conversation-parts.ts'
import { questionText } from '../question-text.ts'
import { entryEvents, withFlowReplies } from '../turn-events.ts'
import type { AcpPrompt } from './graph-prompt.ts'
import type { AcpModes } from './modes.ts'
import { answerOfOption, isPermission, permissionRequest } from './permissions.ts'
import { promptContent, promptText } from './prompt.ts'
import { SessionMode } from './session-mode.ts'
import { chunk, SessionUpdates } from './updates.ts'

export interface SessionOptions {
  readonly host: Host
  /** The agent or graph. */
  readonly agent: string
  readonly sessionId: string
  readonly cwd: string
  readonly client: AgentContext
  readonly images: boolean
  readonly graphInput: (prompt: AcpPrompt) => JsonObject
  readonly modes: AcpModes | undefined
  /** Aborts when the connection has ended. */
  readonly signal: AbortSignal
  readonly onError: (error: Error) => void
}

/** The turn failed, or never began. */
export class TurnFailure extends Error {
  /** Of a turn that was refused. */
  readonly code: string | undefined

  constructor(message: string, code?: string) {
    super(message)
    this.code = code
  }
}

type TurnEnd = EntryData['turn.end']

const PAGE = 500
const CANCELLED = 'Cancelled in the editor.'

export class Session {
  readonly #options: SessionOptions
  readonly #isGraph: boolean
  /** Undefined if the server has no modes. */
  readonly mode: SessionMode | undefined
  /** The number of the newest conversation. */
  #number = 1
  #parts = new ConversationParts()
  #updates: SessionUpdates
  /** The calls that requests wait for. */
  readonly #waiting = new Map<string, string>()
  /** The last entry that the editor has. */
  #last = 0
  /** A turn that goes on after the session was loaded. */
  #resumed: Promise<void> | undefined
  #isPrompted = false
  /** Aborts when the person cancels the prompt, or the turn that goes on after the session was loaded. */
  #cancelling = new AbortController()

  constructor(options: SessionOptions) {
    this.#options = options
    this.#isGraph = options.host.graphs.includes(options.agent)
    this.#updates = new SessionUpdates(options.cwd)
    const { host, modes } = options
    this.mode = modes && new SessionMode({ host, modes, key: this.#key() })
  }

  async prompt(blocks: readonly ContentBlock[]): Promise<StopReason> {
    const { cwd, images } = this.#options
    const content = promptContent(blocks, { cwd, images })
    if (this.#isPrompted)
      throw new HoldfastError('busy', { message: 'A prompt of this session is under way. Cancel it first.' })
    this.#isPrompted = true
    if (this.#isCancelled) this.#cancelling = new AbortController()
    try {
      await this.#resumed
      return await this.#run(await this.#begin(content))
    } finally {
      this.#isPrompted = false
    }
  }

  /** Sends all that the journal has. False if there is no such session. An open turn goes on afterwards. */
  async load(): Promise<boolean> {
    const { host } = this.#options
    let newest: ConversationInfo | undefined
    for (let number = 1; ; number++) {
      const info = await host.reads.info(this.#key(number))
      if (info === undefined) break
      newest = info
      this.#moveTo(number)
      await this.#replay(info.seq)
      if (!this.#isGraph) break
    }
    if (newest === undefined) return false
    await this.mode?.load()
    const { status } = newest
    if (status === 'running' || status === 'waiting') this.#resumeLater(status)
    return true
  }

  /** A prompt whose turn is not stored yet is cancelled with its turn. */
  async cancel(): Promise<void> {
    this.#cancelling.abort()
    await this.#options.host.cancel(this.#key(), CANCELLED)
  }

  get #isCancelled(): boolean {
    return this.#cancelling.signal.aborted
  }

  #key(number = this.#number): ContextKey {
    const { agent, sessionId } = this.#options
    return { ...LOCAL_OWNER, contextId: `${agent}:${sessionId}${number === 1 ? '' : `.${number}`}` }
  }

  #moveTo(number: number): void {
    this.#number = number
    this.mode?.enter(this.#key().contextId)
    this.#last = 0
    this.#parts = new ConversationParts()
    this.#updates = new SessionUpdates(this.#options.cwd)
  }

  async #begin(content: readonly (TextPart | FilePart)[]): Promise<HostedTurn> {
    const { host, graphInput } = this.#options
    const text = promptText(content)
    const info = await host.reads.info(this.#key())
    const open = info === undefined ? [] : await host.requests(this.#key())
    const question = open.find((request) => !isPermission(request) && request.kind !== 'auth')
    if (question !== undefined)
      return host.answer(this.#key(), { [question.requestId]: answerFrom(question, text) })
    if (!this.#isGraph) return host.send(this.#key(), content)
    const { state } = ((info && (await host.reads.state(this.#key()))) ?? {}) as { readonly state?: unknown }
    if (info !== undefined) this.#moveTo(this.#number + 1)
    return host.send(this.#key(), graphInput({ text, content, state }))
  }

  /** Follows a turn, and the turns that the person's answers begin, until nothing is to be asked. */
  async #run(begun: HostedTurn): Promise<StopReason> {
    for (let turn = begun; ; ) {
      if (this.#isCancelled) await turn.cancel(CANCELLED)
      const number = await numberOf(turn)
      await this.mode?.keep()
      const end = await this.#until(number)
      if (!isWaiting(end.outcome)) return stopReason(end)
      const next = await this.#answered()
      if (typeof next === 'string') return next
      turn = next
    }
  }

  /** Puts the open requests to the person. */
  async #answered(): Promise<HostedTurn | StopReason> {
    const { host } = this.#options
    const requests = await host.requests(this.#key())
    const answers: Record<string, Json> = {}
    for (const request of requests.filter(isPermission)) {
      const answer = this.#isCancelled ? undefined : await this.#ask(request)
      if (answer === undefined || this.#isCancelled) {
        await this.cancel()
        return 'cancelled'
      }
      answers[request.requestId] = answer
    }
    if (Object.keys(answers).length > 0) return host.answer(this.#key(), answers)
    for (const request of requests) await this.#send(chunk('agent_message_chunk', questionText(request)))
    return 'end_turn'
  }

  /** Undefined: the person has cancelled the turn. */
  async #ask(request: RequestData): Promise<Json | undefined> {
    const { client, sessionId, cwd } = this.#options
    const callId = this.#waiting.get(request.requestId)
    const asking = { sessionId, cwd, ...(callId === undefined ? {} : { callId }) }
    const question = permissionRequest(request, asking)
    const { signal } = this.#cancelling
    try {
      const { outcome } = await client.request('session/request_permission', question, {
        cancellationSignal: signal,
        stopWaitingOnCancel: true,
      })
      return outcome.outcome === 'selected' ? answerOfOption(request, outcome.optionId) : undefined
    } catch (error) {
      if (signal.aborted) return undefined
      throw error
    }
  }

  async #until(turn: number): Promise<TurnEnd> {
    const { host, signal } = this.#options
    const events = host.events(this.#key(), { since: this.#last, signal })
    for await (const event of withFlowReplies(host, this.#key(), events)) {
      if (event.type === 'entry') this.#last = event.entry.seq
      for (const part of this.#parts.take(event)) {
        await this.#show(part)
        if (part.type === 'turn.end' && part.turn === turn) return part.end
      }
    }
    throw new HoldfastError('shutdown', { message: 'The connection has ended. The turn is in the journal.' })
  }

  async #replay(upTo: number): Promise<void> {
    const { host } = this.#options
    while (this.#last < upTo) {
      const page = { from: this.#last + 1, to: upTo, limit: PAGE }
      const entries = await host.reads.entries(this.#key(), page)
      for await (const event of withFlowReplies(host, this.#key(), entryEvents(entries))) {
        if (event.type === 'entry') this.#last = event.entry.seq
        for (const part of this.#parts.take(event)) {
          if (part.type === 'user') await this.#send(SessionUpdates.user(part.content, part.id))
          await this.#show(part)
        }
      }
    }
  }

  async #show(part: ConversationPart): Promise<void> {
    if (part.type === 'request' && part.callId !== undefined)
      this.#waiting.set(part.request.requestId, part.callId)
    for (const update of this.#updates.part(part)) await this.#send(update)
  }

  async #send(update: SessionUpdate): Promise<void> {
    const { client, sessionId } = this.#options
    await client.notify('session/update', { sessionId, update })
  }

  /** After the answer to `session/load`: the editor must know the session before its turn goes on. */
  #resumeLater(status: 'running' | 'waiting'): void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#resumed = promise
    setImmediate(() => {
      void this.#resume(status)
        .catch((error: unknown) => this.#failed(error))
        .finally(resolve)
    })
  }

  async #resume(status: 'running' | 'waiting'): Promise<void> {
    const { host } = this.#options
    const turn = status === 'running' ? await host.send(this.#key(), null) : await this.#answered()
    if (typeof turn !== 'string') await this.#run(turn)
  }

  async #failed(thrown: unknown): Promise<void> {
    const failure = thrown instanceof Error ? thrown : new Error(String(thrown))
    this.#options.onError(failure)
    if (this.#options.signal.aborted) return
    await this.#send(chunk('agent_message_chunk', failure.message)).catch(() => {})
  }
}

/** Resolves when the turn has begun. Throws if it never does. */
async function numberOf(turn: HostedTurn): Promise<number> {
  for await (const event of turn) {
    if (event.type === 'turn.refused') throw new TurnFailure(event.data.message, event.data.code)
    if (event.turn > 0) return event.turn
  }
  const { error } = await turn.outcome
  throw new TurnFailure(error?.message ?? 'The turn did not begin.')
}

function stopReason({ outcome, error }: TurnEnd): StopReason {
  if (outcome === 'failed') {
    const { message = 'The turn failed.' } = (error ?? {}) as { readonly message?: string }
    throw new TurnFailure(message)
  }
  if (outcome === 'cancelled') return 'cancelled'
  return outcome === 'stop' ? 'end_turn' : 'max_turn_requests'
}
