/**
 * How a turn is opened, whatever runs in it: by an input, an answer, a cancel, an expired request, or because somebody asks.
 *
 * An input that was posted before a request was asked can be no answer to it, and dismisses it neither: nobody had seen the
 * request. Its turn takes it and ends to wait again, with the request open. The position in the journal decides.
 */
import type { Request } from '../journal/index.ts'
import {
  type Entry,
  type EntryData,
  HoldfastError,
  type JsonObject,
  type Principal,
} from '../protocol/index.ts'
import { thrownText } from '../tool/index.ts'
import { accountFor, sayTurnEnd, waitingFor } from './end-turn.ts'
import { hearAnswers } from './requests.ts'
import { dataOf, type RunBase } from './run-base.ts'

/**
 * Why a turn was opened: something was said, or answered; to end a wait that was cancelled; or it goes on without any.
 * `over`: for an input that came before the open requests, and it has ended again.
 */
export type Reason = 'input' | 'answer' | 'cancel' | 'continued' | 'over' | 'none'

/** How a kind of loop takes an input. Both throw if the input cannot be used. */
export interface TakeInput {
  /** Opens a turn from it. What is parked is answered or dismissed by it. */
  readonly start: (input: Entry) => void
  /** Keeps it until what is parked is settled; its turn is open. A message is kept by being taken. */
  readonly queue: (input: Entry) => void
}

/** Which tool results prompts show in their compact form from this turn on. */
export type Trim = Pick<EntryData['turn.start'], 'trimmedUpTo'>

/** Opens a turn, whatever is played in it. If there is no reason for one, what came in is accounted for. */
export async function openTurn(play: RunBase, take: TakeInput, trim: Trim = {}): Promise<Reason> {
  const { parked, turn } = play.session
  // A turn for anything else would have another number, and the cancel would be too late.
  if (
    parked !== undefined &&
    play.inbox.some(({ type, data }) => type === 'cancel' && data['turn'] === turn)
  ) {
    startTurn(play, {}, trim)
    return 'cancel'
  }
  const first = play.inbox.find(
    ({ type, data }) => type === 'input' || (type === 'answer' && isAsked(parked?.requests, data)),
  )
  if (first?.type === 'input' && isBeforeRequests(play, first)) return keepInput(play, first, take)
  accountFor(play, play.session.turn + 1)
  const { continuing } = play.scope
  if (first?.type === 'input') take.start(first)
  else if (first !== undefined) startTurn(play, dataOf(first, 'answer'), trim)
  else if (continuing !== undefined) startTurn(play, continuing, trim)
  else if (hasExpired(play, parked?.requests)) startTurn(play, {}, trim)
  else {
    takeRest(play)
    play.draft.say('release', { reason: 'idle' })
    return 'none'
  }
  if (first?.type !== 'input') await hearAnswers(play)
  if (continuing?.credentials) answerCredentials(play)
  return first === undefined ? 'continued' : (first.type as 'input' | 'answer')
}

/** Was it posted before one of the requests that are open now? */
function isBeforeRequests(play: RunBase, { seq }: Entry): boolean {
  const { requests = [] } = play.session.parked ?? {}
  return requests.some((request) => request.seq > seq && !hasExpired(play, [request]))
}

/** A turn that takes the input and waits on, or, of an input that cannot be used, a refusal that touches nothing else. */
function keepInput(play: RunBase, input: Entry, { queue }: TakeInput): Reason {
  const takes = input.key === undefined ? [] : [input.key]
  const { parked, graph } = play.session
  const { principal, limits, metadata, credentials } = dataOf(input, 'input')
  const needed = credentials ?? parked?.credentials ?? graph?.credentials
  const asked = { principal, limits, metadata, credentials: needed } as Asked
  try {
    checkAsked(asked)
    startTurn(play, asked, { takes })
    queue(input)
  } catch (error) {
    play.drop()
    play.draft.say('take', { as: 'nothing', reason: thrownText(error) }, takes)
    play.draft.say('release', { reason: 'idle' })
    return 'none'
  }
  accountFor(play, play.open.turn)
  sayTurnEnd(play, waitingFor(play.open.requests), {})
  return 'over'
}

/** Inboxes take more than a turn can begin with. It must not be what every driver chokes on, one after the other. */
export function checkAsked({ principal, limits, metadata }: Asked): void {
  const isPrincipal = typeof principal?.tenant === 'string' && typeof principal.actor === 'string'
  const areObjects = [limits, metadata].every((each) => each === undefined || isObject(each))
  if ((principal === undefined || isPrincipal) && areObjects) return
  throw new HoldfastError('invalid-entry', {
    message: 'The input cannot begin a turn: its principal, limits or metadata are not what they should be.',
  })
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** For a turn that cannot begin as it was asked to: it takes what it was asked, and nothing else. False if it was not. */
export function startBare(play: RunBase): boolean {
  const entry = play.inbox.find(({ type, key }) => type === 'input' && key !== undefined)
  if (entry?.key === undefined) return false
  startTurn(play, {}, { takes: [entry.key] })
  return true
}

export interface Asked {
  readonly principal?: Principal
  readonly limits?: JsonObject
  readonly metadata?: JsonObject
  readonly credentials?: true
}

/** A turn that was claimed again and again without coming any further would take every process down with it (R7). */
export function noProgress({ session: { claims }, scope }: RunBase): EntryData['turn.end']['error'] {
  if (claims <= scope.definition.maxClaims) return undefined
  const message = `The turn was taken up ${claims} times without coming any further, and was given up.`
  return { code: 'no-progress', message }
}

/** A conversation belongs to the kind of loop that began it: another kind declines and leaves it untouched. */
export function wrongKind(contextId: string, message: string, details: JsonObject = {}): HoldfastError {
  return new HoldfastError('wrong-kind', { message, details: { contextId, ...details } })
}

export function startTurn(
  play: RunBase,
  asked: Asked,
  { takes = [], trimmedUpTo }: Trim & { readonly takes?: readonly string[] } = {},
): void {
  const { tenant, actor } = play.scope.key
  const { principal = { tenant, actor }, limits, metadata, credentials } = asked
  const data: EntryData['turn.start'] = {
    principal,
    ...(limits === undefined ? {} : { limits }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(credentials === undefined ? {} : { credentials }),
    ...(trimmedUpTo === undefined ? {} : { trimmedUpTo }),
  }
  play.draft.say('turn.start', data, takes)
}

/** Whoever asks the turn to go on and brings credentials has answered the request for them. */
function answerCredentials(play: RunBase): void {
  for (const { requestId, from } of play.open.requests)
    if (from === 'credentials') play.draft.say('request.end', { requestId, how: 'answered' })
}

/** Answers to what nobody asked, cancels of what nobody began: if they stayed, they would want a driver for ever. */
function takeRest(play: RunBase): void {
  for (const { key } of play.inbox)
    if (key !== undefined)
      play.draft.say('take', { as: 'nothing', reason: 'nothing was waiting for it' }, [key])
}

function isAsked(requests: readonly Request[] = [], data: JsonObject): boolean {
  return requests.some(({ requestId }) => requestId === data['requestId'])
}

export function hasExpired(play: RunBase, requests: readonly Request[] = []): boolean {
  const now = play.scope.clock.now()
  return requests.some(({ expiresAt }) => expiresAt !== undefined && expiresAt <= now)
}
