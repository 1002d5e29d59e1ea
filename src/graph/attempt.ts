/** One attempt to run a node: its context, and the actions it may take while the run waits for it. */
import {
  CHILD_SCOPE,
  type ChildContext,
  type ChildScope,
  isComplete,
  questionFrom,
  type Runnable,
} from '../drive/index.ts'
import { type GraphTask, type SeenInRun, type TaskAnswer, taskNamed } from '../journal/index.ts'
import { idsOfRun, reasonsOf } from '../loop/index.ts'
import {
  addUsage,
  defined,
  HoldfastError,
  type InputOrigin,
  type Json,
  limitText,
  moreUsage,
  NO_USAGE,
  quote,
  type Sighting,
  type Usage,
} from '../protocol/index.ts'
import {
  type AskRequest,
  answerTo,
  ask,
  type Credentials,
  callsAround,
  isStandardSchema,
  type ToolContext,
} from '../tool/index.ts'
import type { AnswerTo, NodeContext, NodeDefinition, Question } from './definition.ts'
import { checkPublic, performStep, type StepCaller } from './effects.ts'
import type { EntryQueue } from './entry-queue.ts'
import { invalid } from './invalid.ts'
import { questionKey } from './question-key.ts'
import { type ReadInput, readInput } from './read-input.ts'
import type { Run } from './run.ts'

export interface AttemptOptions {
  readonly run: Run
  readonly queue: EntryQueue
  readonly task: GraphTask
  readonly node: NodeDefinition
  readonly credentials: Credentials
}

interface ChildRun<I, O> {
  readonly key: string
  readonly runnable: Runnable<I, O>
  readonly input: I
  readonly signal: AbortSignal
}

const MOST_SEEN = 200

/** Unwinds a node that has to wait for an answer. */
class Waiting extends Error {}

export class Attempt implements StepCaller {
  readonly run: Run
  readonly queue: EntryQueue
  readonly node: NodeDefinition
  /** The task's name. */
  readonly name: string
  readonly number: number
  /** For calls made under the rules of tools inside the node. */
  readonly context: ToolContext
  /** Keys of the steps taken. */
  readonly keys: Set<string> = new Set()
  /** Keys of the children run. */
  readonly #childKeys = new Set<string>()
  /** Things that the node vouches for, or that were shown below it. */
  readonly #seen: Sighting[] = []
  readonly #questionNames = new Set<string>()
  /** Keys of the node's questions, by name. */
  readonly questionKeys: Map<string, string> = new Map()
  /** The thrown value, before it was converted for storage. */
  thrown: unknown
  readonly #questions: (AskRequest & { readonly name: string })[] = []
  readonly #children = new Map<string, Usage>()
  /** Steps and children that have not settled. */
  readonly #pending = new Set<Promise<unknown>>()
  readonly #credentials: Credentials
  #questionCount = 0
  #isOpen = true

  constructor({ run, queue, task, node, credentials }: AttemptOptions) {
    this.run = run
    this.queue = queue
    this.node = node
    this.name = task.task
    this.number = task.attempt
    this.#credentials = credentials
    this.context = this.#toolContext()
  }

  /** The task in its current state, this attempt's entries included. */
  get task(): GraphTask {
    const task = taskNamed(this.run.position, this.name)
    if (task !== undefined) return task
    throw new HoldfastError('nothing-to-continue', { message: `${this.name} is over.` })
  }

  /** The total usage of each child, by its key. */
  get below(): Readonly<Record<string, Usage>> {
    return Object.fromEntries(this.#children)
  }

  /** Usage of children that is not counted yet. */
  get usage(): Usage {
    const counted = new Map(Object.entries(this.task.below ?? {}))
    const more = [...this.#children].map(([key, used]) => moreUsage(used, counted.get(key) ?? NO_USAGE))
    return more.reduce(addUsage, NO_USAGE)
  }

  /** Each thing once, as it was seen last. */
  get seen(): readonly Sighting[] {
    return [...new Map(this.#seen.map((one) => [`${one.entity} ${one.id}`, one])).values()].slice(-MOST_SEEN)
  }

  close(): void {
    this.#isOpen = false
  }

  checkOpen(): void {
    if (this.#isOpen && this.queue.isOpen) return
    throw new HoldfastError('cancelled', {
      message: `${this.name} has ended, and cannot start anything.`,
    })
  }

  /** Runs the node with its context. A node that asked questions returns these, even if it caught their interrupt. */
  async perform(state: object, { signal, progress }: ToolContext): Promise<unknown> {
    try {
      const input = await this.#input()
      const context = { ...this.#nodeContext(signal, progress), input } as NodeContext
      const update: unknown = await this.node.run(state as never, context)
      return this.#questions.length === 0 ? update : ask(this.#questions)
    } catch (error) {
      if (this.#questions.length > 0) return ask(this.#questions)
      this.thrown = error
      throw error
    } finally {
      // Their results belong to this attempt, whether or not the node awaits them.
      while (this.#pending.size > 0) await Promise.allSettled(this.#pending)
    }
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#pending.add(work)
    const forget = (): void => void this.#pending.delete(work)
    work.then(forget, forget)
    return work
  }

  /** The input of a `Send` as the node's schema reads it. The session has the same object, so it is copied. */
  async #input(): Promise<unknown> {
    const { input: schema, name } = this.node
    const sent = structuredClone(this.task.input)
    if (schema === undefined) return sent
    const read = await readInput(schema, sent, `The \`input\` schema of ${name}`)
    if (read.problem === undefined) return read.value
    const advice = sent === undefined ? ` Run it with new Send(${quote(name)}, input).` : ''
    throw new HoldfastError('invalid-update', {
      message: `The input of ${name} is invalid: ${read.problem}.${advice}`,
    })
  }

  #nodeContext(signal: AbortSignal, progress: NodeContext['progress']): Omit<NodeContext, 'input'> {
    const { contextId, turn, principal, credentials, artifacts } = this.context
    return {
      contextId,
      turn,
      principal,
      credentials,
      artifacts,
      signal,
      progress,
      node: this.node.name,
      task: this.name,
      steps: this.run.position.step,
      attempt: this.number,
      reasons: reasonsOf(this.task),
      step: (key, effect, options = {}) => this.#track(performStep(this, key, { effect, options })),
      // A node may ask several questions before it awaits the first answer.
      interrupt: <Q extends Question>(question: Q) =>
        this.#track(this.#interrupt(question) as Promise<AnswerTo<Q>>),
      vouch: (things) => this.#vouch(things),
      run: (key, runnable, input) => this.#track(this.#runChild({ key, runnable, input, signal })),
    }
  }

  async #interrupt(question: Question): Promise<unknown> {
    this.checkOpen()
    if (typeof question !== 'object' || question === null)
      throw invalid(
        'invalid-option',
        `a question is an object: write interrupt({ kind: "text", prompt: ${quote(question)} })`,
      )
    const { otherwise, ...rest } = question
    const isData = rest.kind === undefined && rest.schema !== undefined
    const asked = (isData ? { ...rest, kind: 'data' } : rest) as AskRequest
    this.#questionCount += 1
    const { name = this.#questionCount === 1 ? 'answer' : `answer-${this.#questionCount}` } = question
    this.#checkQuestion({ ...asked, name })
    const inputKey = questionKey(this.run, asked)
    if (inputKey !== undefined) this.questionKeys.set(name, inputKey)
    const answer = this.#answerTo(name, inputKey)
    if (answer === undefined || answer.how === 'cancelled') {
      this.#questions.push({ ...asked, name })
      throw new Waiting(`${this.name} waits for an answer to ${quote(question.prompt)}.`)
    }
    if (answer.how === 'answered') {
      const read = await readAnswer(asked, structuredClone(answer.value))
      if (read.problem === undefined) return read.value
      this.#questions.push({ ...asked, name, prompt: `${question.prompt} (${read.problem})` })
      throw new Waiting(`${this.name} waits for another answer to ${quote(question.prompt)}.`)
    }
    if ('otherwise' in question) return otherwise
    throw new HoldfastError('expired', {
      message: `The question ${quote(question.prompt)} expired without an answer.`,
    })
  }

  #checkQuestion(question: AskRequest): void {
    const { name = '' } = question
    const [innermost] = callsAround() as readonly Partial<ToolContext>[]
    if (innermost?.callId?.startsWith(`${this.name}/`))
      throw invalid('invalid-option', 'an effect cannot ask; ask with interrupt() before the step')
    if (typeof name !== 'string' || name === '' || name.includes('/'))
      throw invalid('invalid-option', `the name of a question must be a text without /, not ${quote(name)}`)
    checkPublic(this.run, 'name of a question', name)
    this.#claimKey(this.#questionNames, name, 'asks two questions with the name')
    ask(question)
  }

  /** Two with one key would share one stored answer. */
  #claimKey(taken: Set<string>, key: string, what: string): void {
    if (taken.has(key))
      throw invalid(
        'invalid-option',
        `node ${this.node.name} ${what} ${quote(key)}; each needs one of its own`,
      )
    taken.add(key)
  }

  /** The newest answer to this very question. Journals of older versions do not know which question was asked. */
  #answerTo(name: string, inputKey: string | undefined): TaskAnswer | undefined {
    return this.task.answers?.findLast(
      (answer) => answer.name === name && (answer.inputKey === undefined || answer.inputKey === inputKey),
    )
  }

  async #runChild<I, O>({ key, runnable, input, signal }: ChildRun<I, O>): Promise<O> {
    this.checkOpen()
    if (typeof runnable?.['~run'] !== 'function')
      throw invalid(
        'invalid-option',
        `node ${this.node.name} has nothing to run under the key ${quote(key)}: pass an agentNode() or a compiled graph`,
      )
    checkPublic(this.run, 'key of what it runs', key)
    this.#claimKey(this.#childKeys, key, 'runs two with the key')
    const suffix = key === '' ? '' : `.${key}`
    const prefix = key === '' ? '' : `${key}/`
    const { outcome, output, seen = [] } = await runnable['~run'](this.#below(suffix, prefix, signal), input)
    this.#seen.push(...seen.map(sightingOf))
    this.#children.set(key, outcome.usage)
    const { status, requests, error, reason, limit } = outcome
    if (isComplete(outcome)) return output as O
    if (status === 'input-required' || status === 'auth-required') {
      const now = this.run.scope.clock.now()
      for (const request of requests) {
        const question = questionFrom(request, now)
        this.#questions.push({ ...question, name: `${prefix}${question.name}` })
      }
      throw new Waiting(`${this.name} waits for what is below it.`)
    }
    const why = limit === undefined ? `was ${reason}` : `was stopped by the limit on ${limitText(outcome)}`
    const message = error?.message ?? `${this.name}${suffix} ${why}.`
    const { cause } = outcome
    const failure = cause === undefined ? new Error(message) : new Error(message, { cause })
    throw Object.assign(failure, { code: error?.code ?? reason })
  }

  #below(suffix: string, prefix: string, signal: AbortSignal): ChildContext {
    const { principal, credentials, metadata } = this.context
    const answers: Record<string, Json> = {}
    const answerOrigins: Record<string, InputOrigin> = {}
    for (const { name = '', how, value, origin } of this.task.answers ?? []) {
      if (!name.startsWith(prefix) || how !== 'answered' || value === undefined) continue
      answers[name.slice(prefix.length)] = value
      if (origin !== undefined) answerOrigins[name.slice(prefix.length)] = origin
    }
    const { artifacts } = this.run.scope
    const childScope = { ...this.#childScope(), artifacts, answerOrigins }
    return {
      childScope,
      name: `${this.name}${suffix}`,
      sharedName: `${this.#slot()}${suffix}`,
      attempt: this.number,
      principal,
      ...(Object.keys(credentials).length === 0 ? {} : { credentials }),
      metadata,
      signal,
      answers,
      limits: childScope.limits(),
    }
  }

  /** The node's place in the step: tasks of one node that run side by side share no conversation. */
  #slot(): string {
    const { position, session } = this.run
    const generation = session.erasedUpTo === undefined ? '' : `${session.erasedUpTo}-`
    const tasks = position.tasks.filter(({ node }) => node === this.node.name)
    return `${this.node.name}~${generation}${tasks.findIndex(({ task }) => task === this.name) + 1}`
  }

  #vouch(things: unknown): void {
    const isThing = (thing: unknown): boolean => {
      const { entity, id } = (thing ?? {}) as Partial<Sighting>
      return typeof entity === 'string' && typeof id === 'string'
    }
    if (!Array.isArray(things) || !things.every(isThing))
      throw invalid(
        'invalid-option',
        'a node can vouch for what entity.rows() gives: a list of { entity, id, label? }',
      )
    this.checkOpen()
    this.#seen.push(...(things as readonly Sighting[]).map(sightingOf))
  }

  /** Children know ids from this run and from its own caller. */
  #childScope(): ChildScope {
    const { scope } = this.run
    const { origin } = this.run.position
    const above = origin?.contextId === scope.above?.key.contextId ? scope.above : undefined
    const ids = idsOfRun({
      key: scope.key,
      now: () => scope.clock.now(),
      seen: () => [...(this.run.position.seen ?? []), ...this.#seenNow()],
      personsEntries: () => scope.entries(this.run.position.said ?? []),
      above,
    })
    return { ...scope.childScope, ids }
  }

  #seenNow(): readonly SeenInRun[] {
    const { seq } = this.run.session
    return this.#seen.map((one) => ({ ...one, at: this.run.scope.clock.now(), seq }))
  }

  #toolContext(): ToolContext {
    const { run, node } = this
    const { turn, principal, metadata = {} } = run.open
    const context: ToolContext = {
      contextId: run.scope.key.contextId,
      callId: this.name,
      turn,
      iteration: run.position.step,
      principal,
      credentials: this.#credentials,
      idempotencyKey: this.name,
      argumentsKey: this.name,
      signal: run.cancelledOrTimedOut,
      artifacts: run.scope.artifacts(this.name, run.secrets),
      task: node.name,
      previousTools: [],
      metadata,
      answers: {},
      reasons: {},
      progress: (progress) => run.scope.emit('node.progress', { task: this.name, node: node.name, progress }),
    }
    return { ...context, ...{ [CHILD_SCOPE]: this.#childScope() } }
  }
}

/** The stored JSON Schema has checked the answer; a schema library may check more, or transform it. */
async function readAnswer({ kind, schema }: AskRequest, value: Json = null): Promise<ReadInput> {
  return isStandardSchema(schema)
    ? readInput(schema, value, 'The `schema` of a question')
    : { value: answerTo(kind, value) }
}

/** Drops all other fields: they are not stored. */
function sightingOf({ entity, id, label, parent }: Sighting): Sighting {
  return {
    entity,
    id,
    ...defined({ label, parent }),
  }
}
