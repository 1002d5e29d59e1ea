/**
 * Questions of servers (elicitation), answered from the answers that a call already has. A question without an answer
 * stops its call, so that a person is asked and the call runs again. Over a pipe, and from older servers, a question does not
 * come with its call.
 *
 * Q1. A call that asked nothing is never stopped by a question: stopped calls run again.
 * Q2. An answer goes to the call that a person gave it for. So a call with answers runs alone where questions do not
 *     come with their calls.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import { systemTimer } from '../base/index.ts'
import { canonical, type Json, type JsonObject, quote } from '../protocol/index.ts'
import type { AskRequest } from '../tool/index.ts'
import type { SentCall } from './http-transport.ts'
import { seenText } from './seen-text.ts'
import { serverSchema } from './server-schema.ts'

/** A question as a server asks it. */
export interface ServerQuestion {
  readonly mode?: string
  readonly message: string
  readonly requestedSchema?: unknown
  readonly url?: string
}

export interface ServerAnswer {
  readonly action: 'accept' | 'decline' | 'cancel'
  readonly content?: Record<string, string | number | boolean | string[]>
  /** Results of the protocol may carry more. */
  readonly [more: string]: unknown
}

const CANCEL: ServerAnswer = { action: 'cancel' }
const DECLINE: ServerAnswer = { action: 'decline' }
const LONGEST_PROMPT = 4000
/** How long an answer may take from the end of its stream through the parsers. */
const LOST_MS = 2000

/** One run of a call, with the answers that it has and the questions that it lacks answers to. */
export class QuestionedCall {
  readonly asked: AskRequest[] = []
  readonly #about: JsonObject
  readonly #answers: Readonly<Record<string, Json>>
  readonly #onProblem: (problem: string) => void
  readonly #counts = new Map<string, number>()
  readonly #stop = new AbortController()
  readonly #end = new AbortController()
  /** The stream of its answer has ended without one. */
  isLost = false
  /** The server has answered the call, so that it asks no more. */
  isAnswered = false

  constructor(
    about: { readonly server: string; readonly tool: string },
    answers: Readonly<Record<string, Json>>,
    onProblem: (problem: string) => void,
  ) {
    this.#about = about
    this.#answers = answers
    this.#onProblem = onProblem
  }

  get hasAnswers(): boolean {
    return Object.keys(this.#answers).length > 0
  }

  /** Aborts when a question lacks its answer, and when the answer of the call is lost. */
  get stopped(): AbortSignal {
    return this.#stop.signal
  }

  /** Aborts when this run of the call is over. */
  get ended(): AbortSignal {
    return this.#end.signal
  }

  lose(): void {
    this.isLost = true
    this.#stop.abort()
  }

  end(): void {
    this.#end.abort()
  }

  /** True if the next question like this one has an answer. */
  knows(question: ServerQuestion): boolean {
    return this.#answers[this.#nameOf(question)] !== undefined
  }

  async answer(question: ServerQuestion): Promise<ServerAnswer> {
    const { mode, url = '' } = question
    if (mode === 'url' && webAddress(url) === undefined) {
      this.#onProblem(`It asked to open ${quote(url)}, which is no http or https address: declined.`)
      return DECLINE
    }
    const name = this.#nameOf(question)
    this.#counts.set(keyOf(question), (this.#counts.get(keyOf(question)) ?? 0) + 1)
    const given = this.#answers[name]
    if (given !== undefined) return answerFor(question, given)
    this.asked.push(requestFor(question, name, this.#about))
    // Questions that came with this one are asked together.
    await new Promise((resolve) => setImmediate(resolve))
    this.#stop.abort()
    return CANCEL
  }

  /** The same question may be asked several times in a call, and gets an answer each. */
  #nameOf(question: ServerQuestion): string {
    const count = this.#counts.get(keyOf(question)) ?? 0
    return `${keyOf(question)}${count === 0 ? '' : `-${count + 1}`}`
  }
}

/** Assigns the questions of one server to its running calls. */
export class Questions {
  /** True if a question comes with the request that it belongs to. */
  nameTheirCall = false
  readonly #running = new Set<QuestionedCall>()
  #waiting: ((call: QuestionedCall | undefined) => void)[] = []
  readonly #current = new AsyncLocalStorage<QuestionedCall>()
  /** The entrance of the last call. */
  #entrance: Promise<void> = Promise.resolve()
  #onLeave = Promise.withResolvers<void>()

  /** Rejects with the reason of the signal if it aborts before `work` begins. */
  async during<T>(call: QuestionedCall, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.nameTheirCall) this.#running.add(call)
    else await abortedOr(this.#enter(call, signal), signal)
    try {
      signal.throwIfAborted()
      return await this.#current.run(call, work)
    } finally {
      call.end()
      this.#leave(call)
    }
  }

  /** The call that is being sent, which is lost with its stream unless its answer has come by then. */
  currentCall(): SentCall | undefined {
    const call = this.#current.getStore()
    if (call === undefined) return undefined
    const onStreamEnd = (): void => {
      systemTimer.after(LOST_MS, () => {
        if (this.#running.has(call) && call.asked.length === 0) call.lose()
      })
    }
    return { ended: call.ended, onStreamEnd }
  }

  /** Runs code that outlives the call that began it, such as a connection. */
  outside<T>(work: () => T): T {
    return this.#current.exit(work)
  }

  /** @param signal aborts when the server withdraws the question */
  async answer(question: ServerQuestion, signal: AbortSignal): Promise<ServerAnswer> {
    const call = await this.#callOf(signal)
    return call === undefined ? CANCEL : call.answer(question)
  }

  #enter(call: QuestionedCall, signal: AbortSignal): Promise<void> {
    this.#entrance = this.#enterAfter(this.#entrance, call, signal)
    return this.#entrance
  }

  /** Calls enter in their order; one with answers when all others have left, and no other before it has (Q2). */
  async #enterAfter(before: Promise<void>, call: QuestionedCall, signal: AbortSignal): Promise<void> {
    await before
    while (!signal.aborted && this.#excludes(call)) await abortedOr(this.#onLeave.promise, signal)
    if (!signal.aborted) this.#running.add(call)
  }

  #excludes({ hasAnswers }: QuestionedCall): boolean {
    return [...this.#running].some((other) => hasAnswers || other.hasAnswers)
  }

  /** A call without an answer of the server may be the one whose question waits, and no other may get that (Q1). */
  #leave(call: QuestionedCall): void {
    if (!this.#running.delete(call)) return
    this.#onLeave.resolve()
    this.#onLeave = Promise.withResolvers<void>()
    if (call.isAnswered || call.asked.length > 0) return this.#assign()
    for (const resolve of this.#waiting.splice(0)) resolve(undefined)
  }

  /**
   * The call of the request that the question came with. Otherwise, once as many questions wait as calls run, they are
   * paired: a call that asks does not end.
   */
  async #callOf(signal: AbortSignal): Promise<QuestionedCall | undefined> {
    const current = this.#current.getStore()
    if (current !== undefined && this.#running.has(current)) return current
    if (this.nameTheirCall) return undefined
    const { promise, resolve } = Promise.withResolvers<QuestionedCall | undefined>()
    this.#waiting.push(resolve)
    this.#assign()
    await abortedOr(promise, signal)
    this.#waiting = this.#waiting.filter((each) => each !== resolve)
    return signal.aborted ? undefined : promise
  }

  #assign(): void {
    const free = [...this.#running].filter((call) => call.asked.length === 0)
    if (this.#waiting.length < free.length) return
    for (const [at, resolve] of this.#waiting.splice(0).entries()) resolve(free[at])
  }
}

/** Resolves with the work, or when the signal aborts. */
async function abortedOr(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const abort = (): void => resolve()
  signal.addEventListener('abort', abort)
  if (signal.aborted) resolve()
  await Promise.race([work, promise])
  signal.removeEventListener('abort', abort)
}

/** By message and schema: they are the same when the call runs again. An address may be new each time. */
function keyOf({ message, requestedSchema, mode }: ServerQuestion): string {
  const text = canonical([message, mode === 'url' ? null : ((requestedSchema ?? null) as Json)])
  return `elicit-${createHash('sha256').update(text).digest('hex').slice(0, 12)}`
}

function requestFor(question: ServerQuestion, name: string, about: JsonObject): AskRequest {
  const { message, mode, url = '', requestedSchema } = question
  const prompt = seenText(message, LONGEST_PROMPT) || 'An answer is needed.'
  const address = mode === 'url' ? webAddress(url) : undefined
  if (address !== undefined)
    return { kind: 'auth', name, prompt: `${prompt}\n${address}`, about: { ...about, url: address } }
  if (isYesOrNo(question)) return { kind: 'confirmation', name, prompt, about }
  const schema = serverSchema(requestedSchema)
  return {
    kind: 'data',
    name,
    prompt,
    about,
    // A form is flat: a reference in it has no use, and could make the check of an answer endless.
    ...(typeof schema === 'string' || JSON.stringify(schema.checked).includes('"$ref"')
      ? {}
      : { schema: schema.checked }),
  }
}

/** The address as a browser reads it, or undefined: a program that opens others may run or read them. */
function webAddress(url: string): string | undefined {
  const parsed = URL.parse(url)
  return parsed?.protocol === 'https:' || parsed?.protocol === 'http:' ? parsed.href : undefined
}

/** A form without fields. */
function isYesOrNo({ requestedSchema }: ServerQuestion): boolean {
  const { properties } = (requestedSchema ?? {}) as { readonly properties?: unknown }
  return typeof properties !== 'object' || properties === null || Object.keys(properties).length === 0
}

function answerFor(question: ServerQuestion, given: Json): ServerAnswer {
  if (given === false) return { action: 'decline' }
  if (question.mode === 'url') return { action: 'accept' }
  return {
    action: 'accept',
    content: isYesOrNo(question) ? {} : (given as NonNullable<ServerAnswer['content']>),
  }
}
