/** What somebody has to say before the turn can go on: asking, and hearing the answers (R2). */
import { chain, type MaybePromise } from '../base/index.ts'
import type { Answer, Call, Request } from '../journal/index.ts'
import {
  type Entry,
  type InputOrigin,
  type Json,
  pickedTexts,
  quote,
  type RequestData,
} from '../protocol/index.ts'
import { answerTo, type Confirmation, type Credentials, checkAnswer, confirmationIn } from '../tool/index.ts'
import type { Batch } from './driver-port.ts'
import { dataOf, type RunBase } from './run-base.ts'

/** What is asked, without what the turn adds. */
export type Question = Omit<RequestData, 'requestId' | 'expiresAt' | 'callId'> & {
  /** Unlike the other requests of its call. */
  readonly id: string
  readonly expiresInMs?: number
}

export function request(play: RunBase, { id, expiresInMs, ...question }: Question, callId?: string): void {
  const { definition, clock } = play.scope
  play.draft.append('request.start', {
    ...question,
    requestId: callId === undefined ? id : `${callId}/${id}`,
    ...(callId === undefined ? {} : { callId }),
    expiresAt: Math.ceil(clock.now() + (expiresInMs ?? definition.requestTtlMs)),
  })
}

/**
 * The secrets of whoever asked; none is an empty set. Undefined if they are needed and this process does not have them:
 * then they are asked for, and the turn has to wait. Answers that have come are taken on the way.
 */
export function* findCredentials(run: RunBase): Generator<Batch, MaybePromise<Credentials | undefined>> {
  // Secrets come with what was taken, and only what is durable is taken.
  if (run.open.credentials && !run.draft.isEmpty) yield* run.commit('on')
  return chain(run.credentials(), (credentials) =>
    chain(hearAnswers(run), () => {
      if (!run.open.credentials || credentials !== undefined) return credentials ?? {}
      askForCredentials(run)
      return undefined
    }),
  )
}

/** Whoever asked had secrets that this process does not have (R19). */
function askForCredentials(play: RunBase): void {
  const { turn, principal, requests } = play.open
  if (requests.some(({ from }) => from === 'credentials')) return
  const prompt = `The credentials of ${quote(principal.actor)} are needed to go on, and this process does not have them. Continue with \`auth\`.`
  request(play, { id: `credentials-${turn}`, from: 'credentials', kind: 'auth', prompt })
}

/** Takes the answers that have come, each checked, and ends what has expired. */
export function hearAnswers(play: RunBase): MaybePromise<void> {
  const answers = play.inbox.filter(({ type }) => type === 'answer')
  if (answers.length === 0) expire(play)
  else return hearAll(play, answers)
}

async function hearAll(play: RunBase, answers: readonly Entry[]): Promise<void> {
  for (const entry of answers) await hear(play, entry)
  expire(play)
}

export function expire(play: RunBase): void {
  const now = play.scope.clock.now()
  for (const { requestId, expiresAt } of play.open.requests)
    if (expiresAt !== undefined && expiresAt <= now)
      play.draft.append('request.end', { requestId, how: 'expired' })
}

async function hear(play: RunBase, entry: Entry): Promise<void> {
  const { requestId, value, origin } = dataOf(entry, 'answer')
  const takes = entry.key === undefined ? [] : [entry.key]
  const asked = play.open.requests.find((candidate) => candidate.requestId === requestId)
  const question = asked && (await play.scope.view.request(asked.seq))
  const problem =
    asked === undefined
      ? `nothing is waiting for ${requestId}`
      : await wrongWith(play, { asked, question }, value)
  if (problem === undefined) {
    const posted = origin === undefined ? {} : { origin }
    const picked = pickedTexts(question ?? {}, value)
    const offered = picked.length === 0 ? {} : { picked }
    play.draft.append('request.end', { requestId, how: 'answered', value, ...posted, ...offered }, takes)
  } else {
    play.draft.append('take', { as: 'nothing', reason: problem }, takes)
    play.draft.append('warning', {
      code: 'invalid-answer',
      message: `The answer to ${requestId} was not used: ${problem}`,
    })
  }
}

async function wrongWith(
  play: RunBase,
  { asked: { expiresAt }, question }: { readonly asked: Request; readonly question: RequestData | undefined },
  value: Json,
): Promise<string | undefined> {
  if (expiresAt !== undefined && expiresAt <= play.scope.clock.now()) return 'it came too late'
  return question === undefined ? undefined : checkAnswer(question, value)
}

type Told = Pick<Call, 'answers'>

/** The answers that a call or a task has got, by name, as whoever asked gets them. */
export function answersOf(asker: Told): Record<string, Json> {
  return byName(asker, ({ kind, value }) => (value === undefined ? undefined : answerTo(kind, value)))
}

/** The same as they were given: for those below, whose questions they answer. */
export function givenAnswersOf(asker: Told): Record<string, Json> {
  return byName(asker, ({ value }) => value)
}

/** The reasons that came with confirmations, by name. */
export function reasonsOf(asker: Told): Record<string, string> {
  return byName(asker, ({ kind, value }) =>
    kind === 'confirmation' ? confirmationIn(value).reason : undefined,
  )
}

/** Where those answers were posted that no person gave, by name. */
export function answerOriginsOf(asker: Told): Record<string, InputOrigin> {
  return byName(asker, ({ origin }) => origin)
}

function byName<T>({ answers = [] }: Told, part: (answer: Answer) => T | undefined): Record<string, T> {
  // A name may be one that every plain object has.
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

/** Yes, no, or not asked yet; and what was said beside it. */
export function approvalOf({ answers = [] }: Call): Confirmation | undefined {
  const said = answers.findLast(({ from }) => from === 'approval')
  if (said === undefined) return undefined
  return said.how === 'answered' ? confirmationIn(said.value) : { approved: false, reason: said.how }
}
