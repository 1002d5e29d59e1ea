/**
 * Runs a turn with your own persistence. It yields entries before it acts on them: store them in the body of your loop.
 * Pass the stored entries again to continue after a crash.
 */
import { type Clock, type Ids, systemClock, systemIds, systemTimer, type Timer } from '../base/index.ts'
import { advance, fold, importEntries, importMessages, LiveWindow, type Session } from '../journal/index.ts'
import { CallArguments, redactEntry } from '../loop/index.ts'
import { PromptLines } from '../model/index.ts'
import {
  type ArtifactChange,
  artifactInfo,
  type ContextKey,
  checkOptions,
  contextKey,
  type DeltaEvent,
  defined,
  type Entry,
  HoldfastError,
  invalidOption,
  type JsonObject,
  LOCAL_OWNER,
  type NewEntry,
  type OptionSet,
  type OutcomeReason,
  type Principal,
  stampEntry,
  type UserContent,
} from '../protocol/index.ts'
import {
  type ArtifactPort,
  artifacts,
  type Credentials,
  inputOrigin,
  NO_SECRETS,
  type Redactor,
  redactorOf,
  type Settled,
} from '../tool/index.ts'
import { tokenBudget } from './context-fill.ts'
import { defineTurn } from './define-turn.ts'
import { lastOf } from './last-of.ts'
import { turnLoop } from './loop.ts'
import { type MessageInput, parseMessage } from './parse-message.ts'
import type { TurnScope } from './scope.ts'
import { sightingsIn } from './sightings-in.ts'
import { FOREIGN_CONFIG, TURN_CONFIG, type TurnConfig } from './turn-config.ts'

export interface RunTurnOptions<Output = unknown> extends TurnConfig<Output> {
  /** The conversation so far: all entries that were yielded, oldest first. */
  readonly entries?: readonly Entry[]
  /** Null continues an open turn, or where the last one stopped. */
  readonly message?: MessageInput | null
  /**
   * A history of your own instead of `entries`, in any format that `importMessages` reads. Without `message`, its last
   * message is the input. A system message at its start becomes the system prompt.
   */
  readonly messages?: readonly unknown[]
  readonly contextId?: string
  readonly principal?: Principal
  readonly credentials?: Credentials
  readonly metadata?: JsonObject
  readonly maxMessages?: number
  readonly maxTokens?: number
  /** Storage for the bytes of binary artifacts. */
  readonly blobs?: BlobPort
  readonly signal?: AbortSignal
  readonly onDelta?: (event: DeltaEvent) => void
  readonly clock?: Clock
  readonly timer?: Timer
  readonly ids?: Ids
}

export interface BlobPort {
  put(bytes: Uint8Array): Promise<string>
  get(hash: string): Promise<Uint8Array | undefined>
}

export interface RunTurnResult<Output = unknown> {
  readonly outcome: OutcomeReason | undefined
  /** The last reply as data, if there is an `output` schema and the turn came to its end. */
  readonly output?: Output
  readonly session: Session
}

/**
 * @example
 * for await (const entries of runTurn({ model, tools, message: 'Hello', entries: stored })) await save(entries)
 */
export async function* runTurn<Output = unknown>(
  options: RunTurnOptions<Output>,
): AsyncGenerator<readonly Entry[], RunTurnResult<Output>> {
  const { message, history, ...prompt } = inputOf(options)
  const journal = await Journal.open({ ...options, ...prompt, message })
  const opening = [...journal.importHistory(history), ...journal.receive(message)]
  if (opening.length > 0) yield opening
  const left = new AbortController()
  const run = turnLoop(journal.scope(left.signal))
  try {
    for (;;) {
      const { value, done } = await run.next()
      const entries = [...journal.takeRecorded(), ...(done ? [] : journal.append(value.entries))]
      if (entries.length > 0) yield entries
      if (done) return journal.result() as RunTurnResult<Output>
      value.stored()
    }
  } finally {
    // Leaving the loop ends the turn: none of its work may continue by itself, or beside a run that continues the turn.
    left.abort()
    await run.return(true)
  }
}

/** The message of the turn, and the history before it. */
function inputOf(options: RunTurnOptions): TurnInput {
  checkOptions(options, RUN_TURN)
  const { message, messages, entries = [], systemPrompt } = options
  if (messages === undefined) return { message: message === null ? null : parseMessage(message), history: [] }
  if (entries.length > 0)
    throw invalidOption('messages', 'and entries cannot both be given: entries hold the conversation already')
  const { system, ...imported } = importMessages(messages)
  if (system !== undefined && systemPrompt !== undefined)
    throw invalidOption(
      'messages',
      'begin with a system message, and systemPrompt is given too; leave one out',
    )
  const prompt = system === undefined ? {} : { systemPrompt: system }
  if (message !== undefined)
    return {
      message: message === null ? null : parseMessage(message),
      history: importEntries(imported, inputOrigin().origin),
      ...prompt,
    }
  const last = imported.messages.at(-1)
  if (last?.role !== 'user')
    throw invalidOption('messages', 'must end with a message of the user; or give `message`, null to go on')
  const earlier = { ...imported, messages: imported.messages.slice(0, -1) }
  const history = importEntries(earlier, inputOrigin().origin)
  return { message: last.content, history, ...prompt }
}

interface TurnInput {
  readonly message: UserContent | null
  readonly history: readonly NewEntry[]
  readonly systemPrompt?: string
}

const RUN_TURN: OptionSet<RunTurnOptions> = {
  place: 'runTurn()',
  options: {
    ...TURN_CONFIG,
    entries: 'a list',
    message: null,
    messages: null,
    contextId: null,
    principal: 'an object',
    credentials: null,
    metadata: 'an object',
    maxMessages: null,
    maxTokens: null,
    blobs: 'an object',
    signal: 'an AbortSignal',
    onDelta: 'a function',
    clock: 'an object',
    timer: 'a timer with wait() and after()',
    ids: 'an object',
  },
  foreign: {
    ...FOREIGN_CONFIG,
    prompt: 'message',
    input: 'message',
    history: 'messages',
    abortSignal: 'signal',
    auth: 'principal: { tenant, actor } and credentials',
    actorId: 'principal: { tenant, actor }',
    owner: 'principal: { tenant, actor }',
    onChunk: 'onDelta',
  },
}

class Journal {
  readonly #options: RunTurnOptions
  readonly #key: ContextKey
  readonly #window: LiveWindow
  readonly #clock: Clock
  readonly #changes: Entry[] = []
  #inbox: Entry[] = []
  #recorded: Entry[] = []
  readonly #entries: Entry[]
  session: Session

  private constructor(
    options: RunTurnOptions,
    held: { key: ContextKey; window: LiveWindow; session: Session },
  ) {
    this.#options = options
    this.#key = held.key
    this.#window = held.window
    this.#clock = options.clock ?? systemClock
    this.session = held.session
    const { entries = [] } = options
    this.#entries = [...entries]
    const taken = new Set(entries.flatMap(({ takes = [] }) => takes))
    this.#inbox = entries.filter(({ key, seq }) => key !== undefined && !taken.has(seq))
    this.#changes = entries.filter(({ type }) => type === 'artifact')
  }

  static async open(options: RunTurnOptions): Promise<Journal> {
    const {
      entries = [],
      contextId = 'turn',
      principal = LOCAL_OWNER,
      maxMessages = 100,
      maxTokens,
    } = options
    const key = contextKey({ tenant: principal.tenant, actor: principal.actor, contextId })
    const session = fold(entries)
    const limits = { maxMessages, ...(await tokenBudget(maxTokens)) }
    const window = await LiveWindow.over(entries, key, { session, ...limits })
    return new Journal(options, { key, window, session })
  }

  /** Appends an imported history. */
  importHistory(history: readonly NewEntry[]): readonly Entry[] {
    return history.map((entry) =>
      this.#stamp({ ...entry, data: redactEntry(entry.type, entry.data, this.#secrets) }, {}),
    )
  }

  get #secrets(): Redactor {
    const { credentials } = this.#options
    return credentials === undefined ? NO_SECRETS : redactorOf(credentials)
  }

  /** Appends the message as an inbox entry. */
  receive(message: UserContent | null): readonly Entry[] {
    if (message === null) return []
    if (this.session.open !== undefined) throw stillOpenTurn()
    const { principal, metadata, ids = systemIds } = this.#options
    const data = redactEntry(
      'input',
      {
        message,
        ...inputOrigin(),
        ...(principal === undefined ? {} : { principal }),
        ...(metadata === undefined ? {} : { metadata }),
      },
      this.#secrets,
    )
    const entry = this.#stamp({ type: 'input', turn: 0, data }, { key: ids.next('input') })
    this.#inbox.push(entry)
    return [entry]
  }

  append(entries: readonly NewEntry[]): readonly Entry[] {
    return entries.map((entry) => {
      const takes = entry.takes?.map((key) => this.#inbox.find((other) => other.key === key)?.seq ?? 0)
      this.#inbox = this.#inbox.filter(({ key }) => key === undefined || !entry.takes?.includes(key))
      return this.#stamp(entry, takes === undefined ? {} : { takes })
    })
  }

  /** Posts a late result to the inbox, as a driver would. */
  late(callId: string, { status, output }: Settled): void {
    const key = `late:${callId}`
    if (this.#inbox.some((entry) => entry.key === key)) return
    const entry = this.#stamp({ type: 'late-result', turn: 0, data: { callId, status, output } }, { key })
    this.#inbox.push(entry)
    this.#recorded.push(entry)
  }

  result(): RunTurnResult {
    const { session } = this
    const end = lastOf(this.#entries, 'turn.end')
    const output = end?.turn === session.turn ? end.data.output : undefined
    return { outcome: session.outcome, ...(output === undefined ? {} : { output }), session }
  }

  takeRecorded(): readonly Entry[] {
    const recorded = this.#recorded
    this.#recorded = []
    return recorded
  }

  scope(left: AbortSignal): TurnScope {
    const { credentials, principal = LOCAL_OWNER, metadata } = this.#options
    const signal = this.#options.signal === undefined ? left : AbortSignal.any([this.#options.signal, left])
    const { timer = systemTimer, ids = systemIds, onDelta, message } = this.#options
    const current = { session: () => this.session, inbox: () => this.#inbox }
    const made = artifacts(this.#artifactPort())
    return {
      key: this.#key,
      definition: defineTurn(this.#options),
      clock: this.#clock,
      timer,
      ids,
      view: {
        get session() {
          return current.session()
        },
        get inbox() {
          return current.inbox()
        },
        messages: () => this.#window.messages(this.session),
        window: () => this.#window.entries(this.session),
        turnEntries: () => this.#entries,
        request: async (seq) => {
          const entry = this.#entries.find((other) => other.seq === seq)
          return entry?.type === 'request.start' ? (entry as Entry & { data: never }).data : undefined
        },
        askedBy: async (seq) => {
          const isBefore = (start: Entry): boolean => start.seq < seq
          return lastOf(this.#entries, 'turn.start', isBefore)?.data.principal
        },
      },
      sightings: sightingsIn(this.#options.entries ?? [], () => this.session.cleared ?? 0),
      promptLines: new PromptLines(),
      ...(message === null
        ? { continuing: { principal, ...(metadata === undefined ? {} : { metadata }) } }
        : {}),
      cancelled: signal,
      cancelledOrLost: signal,
      cancelledLostOrReleased: signal,
      ensureLease: async () => {},
      emit: (type, data) => onDelta?.({ type, turn: this.session.turn, data } as DeltaEvent),
      credentials: async () => credentials,
      artifacts: (callId, secrets) => made.by({ callId, secrets }),
      callArguments: new CallArguments(),
      ended: () => {},
      late: (callId, settled) => this.late(callId, settled),
    }
  }

  #artifactPort(): ArtifactPort {
    const { blobs = NO_BLOBS } = this.#options
    const changes = () => this.#changes.map(({ data }) => data as ArtifactChange)
    return {
      find: async (id) =>
        changes()
          .filter(({ artifactId }) => artifactId === id)
          .map(artifactInfo)
          .at(-1),
      list: async () => [
        ...new Map(changes().map((change) => [change.artifactId, artifactInfo(change)])).values(),
      ],
      chunks: async (id, version) =>
        changes().filter(
          (change) => change.artifactId === id && change.version === version && change.chunk !== undefined,
        ),
      record: async (data) => {
        const entry = this.#stamp({ type: 'artifact', turn: this.session.turn, data }, {})
        this.#changes.push(entry)
        this.#recorded.push(entry)
      },
      putBlob: (bytes) => blobs.put(bytes),
      getBlob: (hash) => blobs.get(hash),
    }
  }

  #stamp({ type, turn, data }: NewEntry, { key, takes }: Pick<Entry, 'key' | 'takes'>): Entry {
    const at = Math.max(this.#clock.now(), this.session.at)
    const stamp = { seq: this.session.seq + 1, at, ...defined({ takes }) }
    const entry = stampEntry({ type, turn, data, ...defined({ key }) }, stamp)
    this.session = advance([entry], this.session)
    this.#window.add([entry])
    this.#entries.push(entry)
    return entry
  }
}

const NO_BLOBS: BlobPort = {
  put: async () => {
    throw new HoldfastError('invalid-option', {
      message: 'Give runTurn `blobs` to keep binary artifacts in.',
    })
  },
  get: async () => undefined,
}

function stillOpenTurn(): HoldfastError {
  return new HoldfastError('busy', {
    message: 'The entries end in an open turn. Run it to its end with `message: null` first.',
  })
}
