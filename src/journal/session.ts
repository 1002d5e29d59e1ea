/**
 * The session: a conversation's state at a position, as small plain data, folded from its journal (R12). Its size
 * depends on what is open now and not on its length. Type aliases, so that the compiler accepts it as JSON.
 */
import type {
  ActiveValue,
  Entry,
  EntryOf,
  Grant,
  Ground,
  InputOrigin,
  Json,
  JsonObject,
  OutcomeReason,
  Position,
  Principal,
  PromptChanges,
  ReplayClass,
  StopRequest,
  Usage,
} from '../protocol/index.ts'
import { isRoundReached, NO_USAGE } from '../protocol/index.ts'
import type { GraphEffect, GraphPosition } from './graph-position.ts'

/** Code of the warning that prompts omit messages. */
export const OVER_MESSAGES = 'over-max-messages'

/** The `from` of a note that returns a reply which is no valid output. */
export const OUTPUT_NOTE = 'output'

/** The reason of the release that an agent's shutdown appends. Journals hold it: do not change the text. */
export const SHUTDOWN_RELEASE = 'release'

/** Raise it whenever the fold changes its result: older snapshots are then ignored. */
export const SESSION_FORMAT = 15

export type Session = {
  readonly seq: number
  readonly at: number
  readonly createdAt: number
  readonly activeAt: number
  /** Number of turns begun. */
  readonly turn: number
  readonly epoch: number
  /** Claims in a row without progress (R7). */
  readonly claims: number
  readonly open?: OpenTurn
  readonly outcome?: OutcomeReason
  /** The hook that ended that turn early, if any: the turn can be resumed. */
  readonly stopped?: StopRequest
  /** JSON Schema of the output of the newest turn, if its caller gave one. */
  readonly outputSchema?: JsonObject
  /** Calls and requests that the turn ended to wait for; the next one finds them open. */
  readonly parked?: Parked
  /** The part of the journal that prompts use, before any limit on its length; the position of its summary. */
  readonly window: {
    readonly from: number
    readonly messages: number
    readonly summary?: number
    /** Prompts compact tool results up to this position. */
    readonly trimmedUpTo?: number
    /** The token threshold of the near-full warning that was given. */
    readonly nearFull?: number
    /** The warning about omitted messages was given. */
    readonly overMessages?: true
  }
  readonly totals: Totals
  /** The newest calls of unknown outcome: repeating one of them needs a person (R4), unless that has been done. */
  readonly unknown?: readonly UnknownCall[]
  /** Keys of the newest imports: repeating one adds nothing. */
  readonly imports?: readonly string[]
  /** The active selection; readers decide when each part expires (R12). */
  readonly active?: readonly ActiveValue[]
  /** The entries that selected them, by entity; absent for selections of another conversation. */
  readonly activeSince?: { readonly [entity: string]: number }
  /** Grants of this conversation, each for one person. */
  readonly grants?: readonly Grant[]
  /** Position and state of the graph's run: as large as its author lets it become. */
  readonly graph?: GraphPosition
  /** Positions up to here belonged to an erased conversation of this name. */
  readonly erasedUpTo?: number
  /** Position of the last clear. */
  readonly cleared?: number
  readonly metadata?: JsonObject
  /** The last agent paused or shut down, and no driver has followed. */
  readonly closed?: 'paused' | 'shutdown'
  readonly origin?: { readonly parent: string; readonly at: number }
}

export type UnknownCall = ArgumentKeys & {
  readonly callId: string
  /** The same call was made again since, with a known outcome. */
  readonly repeated?: true
}

/** Keys of a call's arguments: as written, and as its tool receives them if that differs. */
export type ArgumentKeys = {
  readonly argsKey: string
  readonly inputKey?: string
}

export type Parked = {
  readonly calls: readonly Call[]
  readonly requests: readonly Request[]
  /** Requested with credentials, which the driver of the calls needs (R19). */
  readonly credentials?: true
  /** Given with the turn that waits; they count for the turn that continues it. */
  readonly limits?: JsonObject
  readonly metadata?: JsonObject
  /** A message was taken that neither a model nor a hook has seen. */
  readonly fresh?: true
}

export type OpenTurn = {
  readonly turn: number
  readonly startSeq: number
  readonly startedAt: number
  readonly principal: Principal
  readonly limits?: JsonObject
  readonly metadata?: JsonObject
  /** The driver needs the requester's credentials (R19). */
  readonly credentials?: true
  readonly iteration: number
  /** A model call has begun and not ended. */
  readonly thinking: boolean
  /** The last completed step: a hook phase, `model` or `tools` (R8). */
  readonly phase?: string
  /** An input was taken that neither a model nor a hook has seen. */
  readonly fresh?: true
  /** The last model call failed, and nothing followed yet. */
  readonly failed?: true
  readonly replied?: true
  /** Hooks' changes to the prompt of the model call. */
  readonly prompt?: PromptChanges
  readonly stop?: StopRequest
  /** Settled calls of the round that no hook has seen. */
  readonly ended?: readonly string[]
  /** The model requested more calls than the turn may make. */
  readonly overCalls?: true
  /** The calls of the current round; empty when no round is open. */
  readonly calls: readonly Call[]
  readonly requests: readonly Request[]
  readonly usage: Usage
  readonly toolCalls: number
  /** Failed calls in a row. */
  readonly failures: number
  /** Replies that were no valid output. */
  readonly invalidOutputs?: number
  readonly retry?: Retry
}

export type Retry = {
  readonly model?: string
  /** Its next attempt; 0: continue with the next model. */
  readonly attempt: number
  /** Earliest time. */
  readonly until: number
  /** Number of models skipped before. */
  readonly skipped?: number
}

export type Call = {
  readonly callId: string
  readonly tool: string
  readonly state: 'requested' | 'started' | 'settled'
  /** The model's arguments; once started, those that the tool received. */
  readonly args: Json
  readonly malformed?: string
  /** Names of the tools in the prompt, if this one was not among them. */
  readonly offered?: readonly string[]
  readonly replay?: ReplayClass
  readonly idempotencyKey?: string
  readonly argsKey?: string
  /** As in `tool.start`; of a call that was not started, those that a person was asked about. */
  readonly inputKey?: string
  /** The hooks before it have run. */
  readonly checked?: true
  /** Its ids were accepted, with these sources. */
  readonly grounds?: readonly Ground[]
  readonly answers?: readonly Answer[]
  /** A sub-agent's usage that a turn has counted. */
  readonly used?: Usage
}

export type Answer = {
  readonly requestId: string
  /** Present for a yes-or-no question. */
  readonly kind?: 'confirmation'
  readonly name?: string
  readonly from?: string
  readonly how: 'answered' | 'expired' | 'cancelled'
  readonly value?: Json
  /** Origin of the answer, if no person gave it. */
  readonly origin?: InputOrigin
  /** As in the request of a node. */
  readonly inputKey?: string
}

export type Request = {
  readonly requestId: string
  /** Position of the entry with the rest of it. */
  readonly seq: number
  readonly kind: string
  readonly callId?: string
  readonly name?: string
  readonly from?: string
  readonly expiresAt?: number
  /** Of a node's question, as in `request.start`; a call keeps its own. */
  readonly inputKey?: string
}

export type Totals = {
  readonly turns: number
  readonly messages: number
  readonly modelCalls: number
  readonly toolCalls: number
  readonly usage: Usage
}

/** Beyond this, the oldest are dropped. */
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

/** True for the base of a recreated conversation (R15): nothing before it counts. */
export function beginsAnew(entry: Entry): entry is EntryOf<'base'> {
  if (entry.type !== 'base') return false
  const { upTo, position } = entry.data as EntryOf<'base'>['data']
  return position.erasedUpTo === upTo
}

/** Unsettled calls and requests, of the open turn or parked. No prompt is made while a round is open. */
export function stillOpen({ open, parked }: Session): Pick<Parked, 'calls' | 'requests'> {
  return open ?? parked ?? { calls: [], requests: [] }
}

/**
 * True once the round of the iteration has begun: its hooks have run, a call was checked, or a call was settled right after
 * the model, where no hook can have settled it.
 */
export function hasRound({ phase, calls }: Pick<OpenTurn, 'phase' | 'calls'>): boolean {
  return (
    isRoundReached(phase) || calls.some((call) => isChecked(call) || (phase === 'model' && isSettled(call)))
  )
}

function isChecked({ checked, grounds, answers, idempotencyKey }: Call): boolean {
  return checked === true || (grounds ?? answers ?? idempotencyKey) !== undefined
}

function isSettled({ state }: Call): boolean {
  return state === 'settled'
}

/** True for a call, or an effect of a node, that was started and has no known outcome. */
export function isStarted(session: Session, callId: string): boolean {
  return (
    stillOpen(session).calls.some((call) => call.callId === callId && call.state === 'started') ||
    effectsOf(session).some((effect) => effect.callId === callId && effect.status === undefined)
  )
}

/** True for calls that have the same effect: the model may write in two ways what the tool receives as one. */
export function isSameCall(a: ArgumentKeys, b: ArgumentKeys): boolean {
  return a.argsKey === b.argsKey || (a.inputKey ?? a.argsKey) === (b.inputKey ?? b.argsKey)
}

/** True for a call that was settled as unknown, unless it is too old, and for every such effect of the open step. */
export function isUnknown(session: Session, callId: string): boolean {
  return (
    (session.unknown ?? []).some((call) => call.callId === callId) ||
    effectsOf(session).some((effect) => effect.callId === callId && effect.status === 'unknown')
  )
}

function effectsOf({ graph }: Session): readonly GraphEffect[] {
  return graph?.tasks.flatMap(({ effects }) => effects ?? []) ?? []
}

/** The part of a session that a store needs to start a fork or a base. */
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
