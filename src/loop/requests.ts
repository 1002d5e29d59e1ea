/** Opens requests and takes their answers (R2). */
import { chain, type MaybePromise } from '../base/index.ts'
import type { Answer, Call, Request } from '../journal/index.ts'
import {
  type Entry,
  type InputOrigin,
  isClientCall,
  type Json,
  offeredGrants,
  type Principal,
  pickedTexts,
  quote,
  type RequestData,
  withGrants,
} from '../protocol/index.ts'
import { answerTo, type Confirmation, type Credentials, checkAnswer, confirmationIn } from '../tool/index.ts'
import { dataOf, type RunBase } from './run-base.ts'

/** A request without the fields that the turn adds. */
export type Question = Omit<RequestData, 'requestId' | 'expiresAt' | 'callId'> & {
  /** Unique among the requests of its call. */
  readonly id: string
  readonly expiresInMs?: number
}

export function request(run: RunBase, { id, expiresInMs, ...question }: Question, callId?: string): void {
  const { definition, clock } = run.scope
  run.draft.append('request.start', {
    ...question,
    requestId: callId === undefined ? id : `${callId}/${id}`,
    ...(callId === undefined ? {} : { callId }),
    expiresAt: Math.ceil(clock.now() + (expiresInMs ?? definition.requestTtlMs)),
  })
}

/**
 * The id of a question of this call: its name, with a number if the call has asked under that id before. No id comes
 * twice: an answer that is sent again must not reach another question.
 */
export function newRequestId(
  { open }: RunBase,
  { callId, answers = [] }: Asker & { readonly callId: string },
  name: string,
): string {
  const used = new Set([...answers, ...open.requests].map(({ requestId }) => requestId))
  let id = name
  for (let asked = 2; used.has(`${callId}/${id}`); asked++) id = `${name}/${asked}`
  return id
}

/**
 * True if the draft has to be durable before `findCredentials`: credentials come with taken inbox entries, and a grant
 * for all conversations is stored outside of this one.
 */
export function isCommittedFirst(run: RunBase): boolean {
  return !run.draft.isEmpty && (run.open.credentials === true || hasLastingGrant(run))
}

/** True if an answer that has come grants calls of all conversations. */
export function hasLastingGrant({ inbox }: RunBase): boolean {
  return inbox.some((entry) => {
    if (entry.type !== 'answer') return false
    const { value, origin } = dataOf(entry, 'answer')
    return origin === undefined && confirmationIn(value).scope === 'always'
  })
}

/**
 * The credentials of the turn, an empty set if it has none. Undefined if this process lacks them: then they are
 * requested, and the turn has to wait. Answers that have come are taken on the way.
 */
export function findCredentials(run: RunBase): MaybePromise<Credentials | undefined> {
  return chain(run.credentials(), (credentials) =>
    chain(takeAnswers(run), () => {
      if (!run.open.credentials || credentials !== undefined) return credentials ?? {}
      askForCredentials(run)
      return undefined
    }),
  )
}

/** Requests the credentials that this process lacks (R19). */
function askForCredentials(run: RunBase): void {
  const { turn, principal, requests } = run.open
  if (requests.some(({ from }) => from === 'credentials')) return
  const prompt = `The credentials of ${quote(principal.actor)} are needed to go on, and this process does not have them. Continue with \`auth\`.`
  request(run, { id: `credentials-${turn}`, from: 'credentials', kind: 'auth', prompt })
}

/** Takes the answers that have come, each checked, and ends expired requests. */
export function takeAnswers(run: RunBase): MaybePromise<void> {
  const answers = run.inbox.filter(({ type }) => type === 'answer')
  if (answers.length === 0) expire(run)
  else return takeAll(run, answers)
}

async function takeAll(run: RunBase, answers: readonly Entry[]): Promise<void> {
  for (const entry of answers) await takeAnswer(run, entry)
  expire(run)
}

export function expire(run: RunBase): void {
  const { requests } = run.open
  if (requests.length === 0) return
  const now = run.scope.clock.now()
  for (const { requestId, expiresAt } of requests)
    if (expiresAt !== undefined && expiresAt <= now)
      run.draft.append('request.end', { requestId, how: 'expired' })
}

async function takeAnswer(run: RunBase, entry: Entry): Promise<void> {
  const { requestId, value, origin, principal = run.open.principal } = dataOf(entry, 'answer')
  const takes = entry.key === undefined ? [] : [entry.key]
  const open = run.open.requests.find((candidate) => candidate.requestId === requestId)
  const question = open && (await run.scope.view.request(open.seq))
  const problem =
    open === undefined ? `nothing is waiting for ${requestId}` : await wrongWith(entry, open, question)
  if (problem === undefined) {
    const posted = originOf(run, { origin, question })
    const picked = pickedTexts(question ?? {}, value)
    const offered = picked.length === 0 ? {} : { picked }
    // Only a person grants: a program may approve a call, and nothing beyond it.
    if (origin === undefined && question !== undefined) await grant(run, { question, value, principal })
    run.draft.append('request.end', { requestId, how: 'answered', value, ...posted, ...offered }, takes)
  } else {
    run.draft.append('take', { as: 'nothing', reason: problem }, takes)
    run.draft.append('warning', {
      code: 'invalid-answer',
      message: `The answer to ${requestId} was not used: ${problem}`,
    })
  }
}

interface GivenGrant {
  readonly question: RequestData
  readonly value: Json
  readonly principal: Principal
}

/**
 * Keeps a grant before its answer is taken, so that a crash between the two repeats it and adds nothing. The answer
 * itself is in the journal by then, if the grant is for all conversations: see `isCommittedFirst`.
 */
async function grant(run: RunBase, { question, value, principal }: GivenGrant): Promise<void> {
  const { scope = 'once' } = question.kind === 'confirmation' ? confirmationIn(value) : {}
  const patterns = offeredGrants(question.about)
  if (scope === 'once' || patterns.length === 0) return
  const at = run.scope.clock.now()
  const { tenant, actor } = principal
  const persons = scope === 'always' ? run.scope.grants?.(principal) : undefined
  if (persons !== undefined) await persons.add(patterns, at)
  else
    run.draft.append('grants', {
      values: withGrants(run.session.grants ?? [], patterns, { tenant, actor, at }),
    })
}

/** The origin of an answer: of the code that posted it, or of the call that the caller's program ran. */
function originOf(
  { scope }: RunBase,
  {
    origin,
    question,
  }: { readonly origin: InputOrigin | undefined; readonly question: RequestData | undefined },
): { readonly origin?: InputOrigin } {
  if (origin !== undefined) return { origin }
  if (question === undefined || !isClientCall(question)) return {}
  const { callId } = question
  return { origin: { contextId: scope.key.contextId, ...(callId === undefined ? {} : { callId }) } }
}

/** The problem of an answer. It counts if it was posted in time, however late a driver takes it. */
async function wrongWith(
  answer: Entry,
  { expiresAt }: Request,
  question: RequestData | undefined,
): Promise<string | undefined> {
  if (expiresAt !== undefined && expiresAt <= answer.at) return 'it came too late'
  return question === undefined ? undefined : checkAnswer(question, dataOf(answer, 'answer').value)
}

type Asker = Pick<Call, 'answers'>

/** The answers to a call or a task, by name, in the form that the asker gets. */
export function answersOf(asker: Asker): Record<string, Json> {
  return byName(asker, ({ kind, value }) => (value === undefined ? undefined : answerTo(kind, value)))
}

/** The same as given, for children whose requests they answer. */
export function givenAnswersOf(asker: Asker): Record<string, Json> {
  return byName(asker, ({ value }) => value)
}

/** The reasons given with confirmations, by name. */
export function reasonsOf(asker: Asker): Record<string, string> {
  return byName(asker, ({ kind, value }) =>
    kind === 'confirmation' ? confirmationIn(value).reason : undefined,
  )
}

/** The origins of answers that no person gave, by name. */
export function answerOriginsOf(asker: Asker): Record<string, InputOrigin> {
  return byName(asker, ({ origin }) => origin)
}

function byName<T>({ answers = [] }: Asker, part: (answer: Answer) => T | undefined): Record<string, T> {
  if (answers.length === 0) return NO_ANSWERS as Record<string, T>
  // A name may be a property of every plain object.
  const parts = Object.create(null) as Record<string, T>
  for (const answer of answers) {
    const { name, how } = answer
    if (name === undefined || how !== 'answered') continue
    const one = part(answer)
    if (one === undefined) delete parts[name]
    else parts[name] = one
  }
  return parts
}

const NO_ANSWERS: object = Object.freeze(Object.create(null) as object)

/** The confirmation and its reason; undefined if not asked yet. */
export function givenApproval({ answers = [] }: Call): Confirmation | undefined {
  const approval = answers.findLast(({ from }) => from === 'approval')
  if (approval === undefined) return undefined
  return approval.how === 'answered'
    ? confirmationIn(approval.value)
    : { approved: false, reason: approval.how }
}
