/**
 * Questions of a remote agent, as they are asked here, and the answers to them. An agent that is served by Holdfast sends its
 * requests as data: an approval stays an approval, a choice a choice. Other agents ask in text.
 *
 * Q1  Of the subject of a request, only fields that are shown to the person are kept: a remote agent offers no grants.
 * Q2  The questions of one message of the remote agent are a round. Their names have its number, and all of them are answered by
 *     one message.
 */
import { defined, isObject, type Json, type JsonObject } from '../protocol/index.ts'
import { type AskKind, type AskRequest, answerFrom } from '../tool/index.ts'
import type { RemoteMessage } from './remote-message.ts'

/** A request as an agent of Holdfast sends it. */
export interface RemoteRequest {
  readonly requestId: string
  readonly kind: AskKind
  readonly prompt: string
  readonly options?: readonly Json[]
  readonly multiple?: true
  readonly schema?: JsonObject
  readonly about?: JsonObject
}

/** The state of a task that asks, and the questions as text and as data. */
export interface RemoteQuestion {
  readonly state: string
  readonly text: string
  readonly requests?: readonly RemoteRequest[]
}

/** The newest round of questions, kept with the task: how its answers are sent. */
export type AskedRound = {
  readonly state: string
  /** The ids of the requests, in the order of the questions; empty for a question in text. */
  readonly requestIds: readonly string[]
}

const KINDS: readonly unknown[] = ['confirmation', 'choice', 'data', 'text', 'auth'] satisfies AskKind[]
const SHOWN: readonly string[] = ['tool', 'args', 'preview']

/** The requests in the data of a message; none if one of them cannot be asked. */
export function requestsIn(data: readonly Json[]): readonly RemoteRequest[] {
  const lists = data.map((each) => (isObject(each) ? each['requests'] : undefined))
  const given = lists.find((list) => Array.isArray(list)) as readonly Json[] | undefined
  const requests = (given ?? []).flatMap((each) => requestFrom(each) ?? [])
  const ids = new Set(requests.map(({ requestId }) => requestId))
  return ids.size === given?.length ? requests : []
}

function requestFrom(value: Json): RemoteRequest | undefined {
  if (!isObject(value)) return undefined
  const { requestId, kind, prompt, options, multiple, schema, about } = value
  if (typeof requestId !== 'string' || requestId === '' || !KINDS.includes(kind)) return undefined
  if (typeof prompt !== 'string' || prompt.trim() === '') return undefined
  const isChoice = kind === 'choice'
  if (isChoice && (!Array.isArray(options) || options.length === 0)) return undefined
  const hasSchema = (kind === 'data' || kind === 'auth') && isObject(schema)
  return {
    requestId,
    kind: kind as AskKind,
    prompt,
    ...(isChoice ? { options: options as readonly Json[] } : {}),
    ...(isChoice && multiple === true ? { multiple } : {}),
    ...(hasSchema ? { schema } : {}),
    ...(isObject(about) ? { about: shownPart(about) } : {}),
  }
}

function shownPart(about: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(about).filter(([field]) => SHOWN.includes(field)))
}

/** The questions of a round for the person here; none for a reply that ends the task. */
export function questionsOf(
  agent: string,
  { state, text, requests = [] }: RemoteQuestion,
  round: number,
): readonly AskRequest[] {
  const about = { remoteAgent: agent }
  const name = `${REPLY}${round}`
  if (state !== 'input-required' && state !== 'auth-required') return []
  if (requests.length > 0)
    return requests.map((request, at) => askOf(request, agent, at === 0 ? name : `${name}-${at + 1}`))
  if (state === 'input-required')
    return [{ kind: 'text', name, prompt: text === '' ? `${agent} needs an answer.` : text, about }]
  const prompt = `${agent} needs you to sign in${text === '' ? '' : `: ${text}`} Answer yes when you have, or no.`
  return [{ kind: 'auth', name, prompt, about }]
}

function askOf(request: RemoteRequest, agent: string, name: string): AskRequest {
  const { kind, prompt, options, multiple, schema, about } = request
  const subject = { remoteAgent: agent, ...about }
  return { kind, prompt, name, about: subject, ...defined({ options, multiple, schema }) }
}

export function askedRound({ state, requests = [] }: RemoteQuestion): AskedRound {
  return { state, requestIds: requests.map(({ requestId }) => requestId) }
}

const REPLY = 'reply-'

/** Answers by round, in the order of their questions. */
export function roundsOf(answers: Readonly<Record<string, Json>>): readonly (readonly Json[])[] {
  const rounds: Json[][] = []
  for (const [name, value] of Object.entries(answers)) {
    const [round = 0, at = 1] = name.slice(REPLY.length).split('-').map(Number)
    rounds[round - 1] ??= []
    ;(rounds[round - 1] as Json[])[at - 1] = value
  }
  return rounds
}

/**
 * The answers of a round as the content of a message. `signed-in`: the person has signed in elsewhere, and the task goes on by
 * itself; `declined`: they have not.
 */
export type AnswerContent = RemoteMessage | 'signed-in' | 'declined'

export function answerContent(values: readonly Json[], { state, requestIds }: AskedRound): AnswerContent {
  if (requestIds.length > 0)
    return { data: { answers: Object.fromEntries(requestIds.map((id, at) => [id, values[at] ?? null])) } }
  const [value = ''] = values
  if (state === 'auth-required') {
    const isDone = typeof value === 'string' ? answerFrom(SIGN_IN, value) : value
    if (isDone === true) return 'signed-in'
    if (isDone === false) return 'declined'
  }
  return { text: typeof value === 'string' ? value : JSON.stringify(value) }
}

const SIGN_IN = { requestId: '', kind: 'confirmation', prompt: '' }
