/**
 * What a conversation is at a position: small, plain data, the result of folding its journal (R12). Its size depends on
 * what is open now and not on how much was said. Type aliases, so that the compiler sees that it is JSON.
 */
import type {
  ActiveValue,
  Entry,
  EntryOf,
  Ground,
  InputOrigin,
  Json,
  JsonObject,
  OutcomeReason,
  Position,
  Principal,
  PromptChanges,
  ReplayClass,
  StopWish,
  Usage,
} from '../protocol/index.ts'
import { isRoundReached, NO_USAGE } from '../protocol/index.ts'
import type { GraphPosition } from './graph-position.ts'

/** The code of the warning that prompts leave messages out. */
export const OVER_MESSAGES = 'over-max-messages'

/** Raise it whenever the fold changes its mind: older snapshots are then ignored. */
export const SESSION_FORMAT = 9

export type Session = {
  readonly seq: number
  readonly at: number
  readonly createdAt: number
  readonly activeAt: number
  /** Number of turns begun. */
  readonly turn: number
  readonly epoch: number
  /** Claims in a row that led nowhere (R7). */
  readonly claims: number
  readonly open?: OpenTurn
  /** How the last finished turn ended. */
  readonly outcome?: OutcomeReason
  /** Who ended that turn before its end, if a hook did: it can be gone on with. */
  readonly stopped?: StopWish
  /** What that turn ended to wait for: the next one finds its calls and requests open. */
  readonly parked?: Parked
  /** The part of the journal that prompts are made from, before any limit on its length; where its summary stands. */
  readonly window: {
    readonly from: number
    readonly messages: number
    readonly summary?: number
    /** Prompts show tool results up to this position in their compact form. */
    readonly trimmedUpTo?: number
    /** It was said that the context is nearly full: so many tokens are too many. */
    readonly nearFull?: number
    /** A warning has said that prompts leave messages out. */
    readonly overMessages?: true
  }
  readonly totals: Totals
  /** The newest calls of unknown outcome: repeating one of them needs a person (R4), unless that has been done. */
  readonly unknown?: readonly UnknownCall[]
  /** The newest imports by their keys: importing the same again adds nothing. */
  readonly imports?: readonly string[]
  /** Which things are chosen; when each stops to count is for whoever looks to say (R12). */
  readonly active?: readonly ActiveValue[]
  /** The entries that chose them, by entity; none for what was chosen in another conversation. */
  readonly activeSince?: { readonly [entity: string]: number }
  /** Where the run of a graph stands, and its state: as large as its author lets it become. */
  readonly graph?: GraphPosition
  /** Positions up to here were those of an earlier conversation of this name, which was erased. */
  readonly erasedUpTo?: number
  /** Where the conversation was last cleared. */
  readonly cleared?: number
  readonly metadata?: JsonObject
  /** The agent that drove it last was paused or shut down, and nobody has driven it since. */
  readonly closed?: 'paused' | 'shutdown'
  readonly origin?: { readonly parent: string; readonly at: number }
}

export type UnknownCall = {
  readonly callId: string
  readonly argsKey: string
  /** The same was called again since, and it is known how that ended. */
  readonly repeated?: true
}

export type Parked = {
  readonly calls: readonly Call[]
  readonly requests: readonly Request[]
  /** The calls were asked for with credentials, and whoever runs them needs those (R19). */
  readonly credentials?: true
  /** A message was taken that no model was asked about yet, and no hook has been told. */
  readonly fresh?: true
}

export type OpenTurn = {
  readonly turn: number
  readonly startSeq: number
  readonly startedAt: number
  readonly principal: Principal
  readonly limits?: JsonObject
  readonly metadata?: JsonObject
  /** Whoever drives it needs the credentials of the one who asked (R19). */
  readonly credentials?: true
  readonly iteration: number
  /** A model call was begun and has not ended. */
  readonly thinking: boolean
  /** The last step that is known to be complete: a hook phase, `model` or `tools` (R8). */
  readonly phase?: string
  /** Somebody said something that no model was asked about yet, and no hook has been told. */
  readonly fresh?: true
  /** The last model call failed, and nobody has gone on after it. */
  readonly failed?: true
  /** The last reply asked for nothing. */
  readonly replied?: true
  /** What hooks want the model call to be shown. */
  readonly prompt?: PromptChanges
  /** A hook wants the turn to end. */
  readonly stop?: StopWish
  /** Calls of the round that came to rest, and of which no hook has been told. */
  readonly ended?: readonly string[]
  /** The model asked for more calls than the turn may make. */
  readonly overCalls?: true
  /** The calls of the current round; empty when no round is open. */
  readonly calls: readonly Call[]
  readonly requests: readonly Request[]
  readonly usage: Usage
  readonly toolCalls: number
  /** Calls in a row that did not end well. */
  readonly failures: number
  /** The last model call failed, and this is tried next. */
  readonly retry?: Retry
}

export type Retry = {
  /** Which model failed. */
  readonly model?: string
  /** Which attempt of it is next; 0: it is given up, and the model after it is asked. */
  readonly attempt: number
  /** Not before. */
  readonly until: number
  /** How many models were given up before. */
  readonly skipped?: number
}

export type Call = {
  readonly callId: string
  readonly tool: string
  readonly state: 'requested' | 'started' | 'settled'
  /** What the model asked for; once started, what the tool was really given. */
  readonly args: Json
  /** Why the arguments cannot be used. */
  readonly malformed?: string
  /** Names of the tools that the model was shown, if this one was not among them. */
  readonly offered?: readonly string[]
  readonly replay?: ReplayClass
  readonly idempotencyKey?: string
  readonly argsKey?: string
  /** The hooks before it have run. */
  readonly checked?: true
  /** Its ids were found good, and where they came from. */
  readonly grounds?: readonly Ground[]
  /** What it asked for before and was told. */
  readonly answers?: readonly Answer[]
  /** What a sub-agent of it has used and was counted in a turn. */
  readonly used?: Usage
}

export type Answer = {
  readonly requestId: string
  /** Of a question that can be answered in two ways. */
  readonly kind?: 'confirmation'
  readonly name?: string
  readonly from?: string
  readonly how: 'answered' | 'expired' | 'cancelled'
  readonly value?: Json
  /** Where it was posted, if no person gave it. */
  readonly origin?: InputOrigin
}

export type Request = {
  readonly requestId: string
  /** Where it was asked: the entry has the rest of it. */
  readonly seq: number
  readonly kind: string
  readonly callId?: string
  readonly name?: string
  readonly from?: string
  readonly expiresAt?: number
}

export type Totals = {
  readonly turns: number
  readonly messages: number
  readonly modelCalls: number
  readonly toolCalls: number
  readonly usage: Usage
}

/** More are forgotten, the oldest first. */
export const MAX_UNKNOWN = 50
export const MAX_IMPORTS = 50

export function newSession(): Session {
  return {
    seq: 0,
    at: 0,
    createdAt: 0,
    activeAt: 0,
    turn: 0,
    epoch: 0,
    claims: 0,
    window: { from: 1, messages: 0 },
    totals: { turns: 0, messages: 0, modelCalls: 0, toolCalls: 0, usage: NO_USAGE },
  }
}

/** Does a new conversation begin here under the name of one that was erased (R15)? Then nothing before it counts. */
export function beginsAnew(entry: Entry): entry is EntryOf<'base'> {
  if (entry.type !== 'base') return false
  const { upTo, position } = entry.data as EntryOf<'base'>['data']
  return position.erasedUpTo === upTo
}

/** What waits to be settled, in the open turn or parked by one that ended to wait. No prompt is made while a round is. */
export function stillOpen({ open, parked }: Session): Pick<Parked, 'calls' | 'requests'> {
  return open ?? parked ?? { calls: [], requests: [] }
}

/**
 * Has the round of the iteration begun? By the phase of its hooks; where there are none, by its calls: one of them was
 * looked at, or settled with no hook after the reply that could have done so.
 */
export function hasRound({ phase, calls }: Pick<OpenTurn, 'phase' | 'calls'>): boolean {
  return (
    isRoundReached(phase) || calls.some((call) => isLookedAt(call) || (phase === 'model' && isSettled(call)))
  )
}

function isLookedAt({ checked, grounds, answers, idempotencyKey }: Call): boolean {
  return checked === true || (grounds ?? answers ?? idempotencyKey) !== undefined
}

function isSettled({ state }: Call): boolean {
  return state === 'settled'
}

/** Is this a call, or an effect of a node, that was begun and of which nobody knows how it ended? */
export function isStarted(session: Session, callId: string): boolean {
  const effects = session.graph?.tasks.flatMap((task) => task.effects ?? []) ?? []
  return (
    stillOpen(session).calls.some((call) => call.callId === callId && call.state === 'started') ||
    effects.some((effect) => effect.callId === callId && effect.status === undefined)
  )
}

/** What a store needs to know of a session to start a fork or a base from it. */
export function positionOf(session: Session): Position {
  const { at, turn, epoch, claims, createdAt, activeAt, outcome } = session
  return {
    at,
    turn,
    epoch,
    claims,
    createdAt,
    activeAt,
    running: session.open !== undefined,
    ...(outcome === undefined ? {} : { outcome }),
  }
}
