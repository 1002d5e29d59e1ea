/**
 * Opens a turn of any loop: by an input, an answer, a cancel, an expired request, or a request to continue.
 *
 * An input posted before a request can neither answer nor dismiss it: its author had not seen the request. Its turn
 * takes the input and ends to wait again, with the request open. The position in the journal decides.
 */
import { chain, type MaybePromise } from '../base/index.ts'
import type { Request } from '../journal/index.ts'
import {
  defined,
  type Entry,
  type EntryData,
  HoldfastError,
  isObject,
  type JsonObject,
  type Principal,
} from '../protocol/index.ts'
import { thrownText } from '../tool/index.ts'
import { accountFor, appendTurnEnd, waitingFor } from './end-turn.ts'
import { hasLastingGrant, takeAnswers } from './requests.ts'
import { dataOf, type RunBase } from './run-base.ts'

/**
 * What opened a turn: an `input`, an `answer`, a `cancel` that ends a wait, or, for `continued`, no inbox entry. `over`: an
 * input from before the open requests, and the turn has ended again. `none`: no turn was opened.
 */
export type OpenTurnResult = 'input' | 'answer' | 'cancel' | 'continued' | 'over' | 'none'

/** How a loop takes an input. Both throw if the input cannot be used. */
export interface TakeInput {
  /** Opens a turn from the input, which answers or dismisses what is parked. */
  readonly start: (input: Entry) => void
  /** Keeps the input until what is parked is settled; its turn is open. A message is kept by being taken. */
  readonly queue: (input: Entry) => void
}

/** Fields of `turn.start` that the loop adds. */
export type StartFields = Pick<EntryData['turn.start'], 'trimmedUpTo' | 'prompt'>

/** Opens a turn. If nothing requests one, takes the inbox entries and releases the conversation. */
export function openTurn(run: RunBase, take: TakeInput, own: StartFields = {}): MaybePromise<OpenTurnResult> {
  const { parked, turn } = run.session
  const { inbox } = run
  // A turn for another reason would have another number, and the cancel would be too late.
  if (parked !== undefined && inbox.some(({ type, data }) => type === 'cancel' && data['turn'] === turn)) {
    startTurn(run, {}, own)
    return 'cancel'
  }
  const first = inbox.find(
    ({ type, data }) => type === 'input' || (type === 'answer' && isOpenRequest(parked?.requests, data)),
  )
  if (first?.type === 'input' && isBeforeRequests(run, first)) return keepInput(run, first, take)
  accountFor(run, run.session.turn + 1)
  const { continuing } = run.scope
  if (first?.type === 'input') take.start(first)
  else if (first !== undefined)
    startTurn(run, dataOf(first, 'answer'), { ...own, ...defined({ key: first.key }) })
  else if (continuing !== undefined) startTurn(run, continuing, own)
  else {
    const expired = parked?.requests.find((request) => hasExpired(run, request))
    if (expired !== undefined) return openExpired(run, expired, own)
    takeRest(run)
    run.draft.append('release', { reason: 'idle' })
    return 'none'
  }
  const opened = (): OpenTurnResult => {
    if (continuing?.credentials) answerCredentials(run)
    return first === undefined ? 'continued' : (first.type as 'input' | 'answer')
  }
  // A lasting grant is an effect, and none comes before the claim: its answer is taken once the turn is durable.
  return first?.type === 'input' || hasLastingGrant(run) ? opened() : chain(takeAnswers(run), opened)
}

/** Opens a turn that no caller requested: it belongs to the principal of the turn that asked, not to the owner. */
async function openExpired(run: RunBase, { seq }: Request, own: StartFields): Promise<OpenTurnResult> {
  const principal = await run.scope.view.askedBy(seq)
  startTurn(run, defined({ principal }), own)
  if (!hasLastingGrant(run)) await takeAnswers(run)
  return 'continued'
}

/** True if the input was posted before a request that is open now. */
function isBeforeRequests(run: RunBase, { seq }: Entry): boolean {
  const { requests = [] } = run.session.parked ?? {}
  return requests.some((request) => request.seq > seq && !hasExpired(run, request))
}

/** Opens a turn that takes the input and waits on; an input that cannot be used is refused and changes nothing else. */
function keepInput(run: RunBase, input: Entry, { queue }: TakeInput): OpenTurnResult {
  const takes = input.key === undefined ? [] : [input.key]
  const { parked, graph } = run.session
  const given = dataOf(input, 'input')
  const { principal, credentials, outputSchema } = given
  const needed = credentials ?? parked?.credentials ?? graph?.credentials
  // The parked calls keep their limits and metadata: nothing runs in the turn of the input.
  const fields = {
    principal,
    limits: parked?.limits,
    metadata: parked?.metadata,
    credentials: needed,
    outputSchema: outputSchema ?? run.session.outputSchema,
  } as RequestFields
  try {
    checkRequestFields(given)
    startTurn(run, fields, { takes })
    queue(input)
  } catch (error) {
    run.drop()
    run.draft.append('take', { as: 'nothing', reason: thrownText(error) }, takes)
    run.draft.append('release', { reason: 'idle' })
    return 'none'
  }
  accountFor(run, run.open.turn)
  appendTurnEnd(run, waitingFor(run.open.requests), {})
  return 'over'
}

/** Throws for an inbox entry that cannot begin a turn: every driver would fail on it, one after the other. */
export function checkRequestFields({ principal, limits, metadata, outputSchema }: RequestFields): void {
  const isPrincipal = typeof principal?.tenant === 'string' && typeof principal.actor === 'string'
  const areObjects = [limits, metadata, outputSchema].every((each) => each === undefined || isObject(each))
  if ((principal === undefined || isPrincipal) && areObjects) return
  throw new HoldfastError('invalid-entry', {
    message:
      'The input cannot begin a turn: its principal, limits, metadata or outputSchema have the wrong shape.',
  })
}

/** Opens a turn that only takes the input that it cannot use. False if there is no input. */
export function startWithUnusableInput(run: RunBase): boolean {
  const entry = run.inbox.find(({ type, key }) => type === 'input' && key !== undefined)
  if (entry?.key === undefined) return false
  startTurn(run, {}, { takes: [entry.key] })
  return true
}

export interface RequestFields {
  readonly principal?: Principal
  readonly limits?: JsonObject
  readonly metadata?: JsonObject
  readonly credentials?: true
  readonly outputSchema?: JsonObject
}

/** The error of a turn that was claimed too often without progress: it would take down every process (R7). */
export function noProgress({ session: { claims }, scope }: RunBase): EntryData['turn.end']['error'] {
  if (claims <= scope.definition.maxClaims) return undefined
  const message = `The turn was claimed ${claims} times without progress, and was ended.`
  return { code: 'no-progress', message }
}

/** A conversation belongs to the kind of loop that began it: another kind refuses and leaves it untouched. */
export function wrongKind(contextId: string, message: string, details: JsonObject = {}): HoldfastError {
  return new HoldfastError('wrong-kind', { message, details: { contextId, ...details } })
}

/**
 * `key`: of the inbox entry that begins the turn, if the start does not take it. `isLeft`: this loop leaves the turn to
 * the next one, and observers see it taken over.
 */
interface Start extends StartFields {
  readonly takes?: readonly string[]
  readonly key?: string
  readonly isLeft?: boolean
}

export function startTurn(
  run: RunBase,
  fields: RequestFields,
  { takes = [], key = takes[0], isLeft = false, ...own }: Start = {},
): void {
  const { tenant, actor } = run.scope.key
  const { principal = { tenant, actor }, limits, metadata, credentials, outputSchema } = fields
  const data: EntryData['turn.start'] = {
    principal,
    ...defined({ limits, metadata, credentials, outputSchema }),
    ...own,
    ...(isLeft ? {} : run.scope.telemetry?.begin(run.session.turn + 1, key)),
  }
  run.draft.append('turn.start', data, takes)
}

/** A request to continue with credentials answers the request for them. */
function answerCredentials(run: RunBase): void {
  for (const { requestId, from } of run.open.requests)
    if (from === 'credentials') run.draft.append('request.end', { requestId, how: 'answered' })
}

/** Takes answers and cancels that match nothing: if they stayed, they would want a driver for ever. */
function takeRest(run: RunBase): void {
  for (const { key } of run.inbox)
    if (key !== undefined)
      run.draft.append('take', { as: 'nothing', reason: 'nothing was waiting for it' }, [key])
}

function isOpenRequest(requests: readonly Request[] = [], data: JsonObject): boolean {
  return requests.some(({ requestId }) => requestId === data['requestId'])
}

function hasExpired(run: RunBase, request: Request): boolean {
  return isExpiredAt(run.scope.clock.now(), request)
}

export function isExpiredAt(at: number, { expiresAt }: Request): boolean {
  return expiresAt !== undefined && expiresAt <= at
}
