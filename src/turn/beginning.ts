/** How a turn comes to be: from what was said, from answers, from expired requests, or because somebody asks it to go on. */
import { type Request, trimPoint } from '../journal/index.ts'
import {
  type Entry,
  type EntryData,
  HoldfastError,
  type JsonObject,
  type Principal,
  textOf,
} from '../protocol/index.ts'
import { accountFor, endTurn, settleRest } from './ending.ts'
import type { Play } from './play.ts'
import { expire, hearAnswers } from './requests.ts'
import { dataOf, type Stage } from './stage.ts'

/** Opens a turn or takes up the open one. False if there is no reason for one: then what came in is accounted for. */
export async function begin(play: Play): Promise<boolean> {
  checkKind(play)
  if (play.session.open !== undefined) {
    await takeUp(play)
    return true
  }
  const trim = await trimOf(play)
  const reason = await openTurn(play, (entry) => startFrom(play, entry, trim), trim)
  const { metadata } = play.scope
  if (reason !== 'none' && metadata !== undefined && play.session.metadata === undefined)
    play.draft.say('state', { metadata })
  if (reason === 'continued') await nudge(play)
  return reason !== 'none'
}

/** Why a turn was opened: something was said, or answered; to end a wait that was cancelled; or it goes on without any. */
export type Reason = 'input' | 'answer' | 'cancel' | 'continued' | 'none'

/** Which tool results prompts show in their compact form from this turn on. */
type Trim = Pick<EntryData['turn.start'], 'trimmedUpTo'>

/** Results are trimmed between two turns and never inside of one, so that the prompts of a turn begin the same. */
async function trimOf({ scope, session }: Play): Promise<Trim> {
  const { toolResultTurns: turns } = scope.definition
  if (!Number.isFinite(turns)) return {}
  const { trimmedUpTo } = session.window
  const upTo = trimPoint(await scope.view.window(), { turns, trimmedUpTo })
  return upTo === undefined ? {} : { trimmedUpTo: upTo }
}

/** Opens a turn, whatever is played in it. If there is no reason for one, what came in is accounted for. */
export async function openTurn(play: Stage, hear: (input: Entry) => void, trim: Trim = {}): Promise<Reason> {
  const { parked, turn } = play.session
  const first = play.inbox.find(({ type, data }) => {
    if (type === 'cancel') return parked !== undefined && data['turn'] === turn
    return type === 'input' || (type === 'answer' && isAsked(parked?.requests, data))
  })
  if (first?.type === 'cancel') {
    startTurn(play, {}, trim)
    return 'cancel'
  }
  accountFor(play, play.session.turn + 1)
  const { continuing } = play.scope
  if (first?.type === 'input') hear(first)
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

/** What a graph has begun is for that graph to go on with: an agent declines and leaves it untouched. */
function checkKind({ session, scope }: Play): void {
  if (session.graph === undefined) return
  throw new HoldfastError('wrong-kind', {
    message: `${scope.key.contextId} is a conversation of the graph ${session.graph.graph}, not of an agent. Run it with that graph, or use another contextId.`,
    details: { contextId: scope.key.contextId, graph: session.graph.graph },
  })
}

/** A model that is to go on after its own words needs somebody to say so: no prompt ends with a reply (R9). */
async function nudge(play: Play): Promise<void> {
  const messages = await play.scope.view.messages()
  if (play.open.calls.length === 0 && messages.at(-1)?.role === 'assistant')
    play.draft.say('note', { text: 'Go on.', from: 'runtime' })
}

/** A turn that was claimed again and again without coming any further would take every process down with it (R7). */
async function takeUp(play: Play): Promise<void> {
  const { claims } = play.session
  if (claims <= play.scope.definition.maxClaims) return
  const message = `The turn was taken up ${claims} times without coming any further, and was given up.`
  await endTurn(play, 'failed', { error: { code: 'no-progress', message } })
}

function startFrom(play: Play, entry: Entry, trim: Trim): void {
  const { message, ...asked } = dataOf(entry, 'input')
  checkAsked(asked)
  const takes = entry.key === undefined ? [] : [entry.key]
  const [request, ...others] = play.session.parked?.requests ?? []
  if (request?.kind === 'text' && others.length === 0 && !hasExpired(play, [request])) {
    startTurn(play, asked, trim)
    const { requestId } = request
    const posted = asked.origin === undefined ? {} : { origin: asked.origin }
    play.draft.say('request.end', { requestId, how: 'answered', value: textOf(message), ...posted }, takes)
    return
  }
  startTurn(play, asked, { takes, ...trim })
  expire(play)
  settleRest(play, 'Not run: the person said something else instead.')
}

/** For a turn that cannot begin as it was asked to: it takes what it was asked, and nothing else. False if it was not. */
export function startBare(play: Stage): boolean {
  const entry = play.inbox.find(({ type, key }) => type === 'input' && key !== undefined)
  if (entry?.key === undefined) return false
  startTurn(play, {}, { takes: [entry.key] })
  return true
}

interface Asked {
  readonly principal?: Principal
  readonly limits?: JsonObject
  readonly metadata?: JsonObject
  readonly credentials?: true
}

/** Inboxes take more than a turn can begin with. It must not be what every driver chokes on, one after the other. */
function checkAsked({ principal, limits, metadata }: Asked): void {
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

export function startTurn(
  play: Stage,
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
function answerCredentials(play: Stage): void {
  for (const { requestId, from } of play.open.requests)
    if (from === 'credentials') play.draft.say('request.end', { requestId, how: 'answered' })
}

/** Answers to what nobody asked, cancels of what nobody began: if they stayed, they would want a driver for ever. */
function takeRest(play: Stage): void {
  for (const { key } of play.inbox)
    if (key !== undefined)
      play.draft.say('take', { as: 'nothing', reason: 'nothing was waiting for it' }, [key])
}

function isAsked(requests: readonly Request[] = [], data: JsonObject): boolean {
  return requests.some(({ requestId }) => requestId === data['requestId'])
}

function hasExpired(play: Stage, requests: readonly Request[] = []): boolean {
  const now = play.scope.clock.now()
  return requests.some(({ expiresAt }) => expiresAt !== undefined && expiresAt <= now)
}
