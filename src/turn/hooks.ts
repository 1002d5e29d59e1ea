/**
 * Runs the hooks of one phase and appends their changes (R8). Earlier entries are durable by then, so hooks get nothing
 * that might be lost. The phase and its changes are one append, together with the turn's next entries; a process that
 * dies before that runs the hooks again.
 */
import { debugThrown, endsWithin, systemTimer, type Timer } from '../base/index.ts'
import type {
  CallResult,
  HookContext,
  HookContextOf,
  HookDataOf,
  HookRegistry,
  PendingCall,
  Prompt,
  Registered,
} from '../hook/index.ts'
import { importMessages } from '../journal/index.ts'
import type { Batch } from '../loop/index.ts'
import { hasRedaction, Interrupted } from '../loop/index.ts'
import { GO_ON } from '../model/index.ts'
import {
  checkName,
  HOOK_TABLE,
  HoldfastError,
  type HookKind,
  type HookName,
  isObject,
  type Json,
  MAX_OUTPUT_BYTES,
  type Message,
  type PhaseChanges,
  quote,
  type StopRequest,
  type TraceEntry,
} from '../protocol/index.ts'
import { NO_SECRETS, type Redactor, runAround, thrownText, toJson } from '../tool/index.ts'
import { contextPercent } from './context-fill.ts'
import type { TurnInfo } from './definition.ts'
import { frozenCopy } from './frozen-copy.ts'
import { idsOfTurn } from './ids-of-turn.ts'
import { hookTrace } from './trace.ts'
import type { TurnRun } from './turn-run.ts'

/** Every action of a hook; each gets those that its row of the table allows. */
interface HookActions {
  readonly add: (text: string) => void
  readonly stop: (reason?: string) => void
  readonly edit: (callId: string, args: Json) => void
  readonly reject: (callId: string, reason: string) => void
  readonly editPrompt: (changes: Partial<Prompt>) => void
  readonly editResult: (callId: string, output: Json) => void
}

/** Makes the data that only this hook gets. Called for each hook: it sees the changes of those before it. */
export type DataMaker<Name extends HookName> = (phase: Phase) => HookDataOf<Name>

/** True if there is a hook of this name to run now. */
export function isPhaseDue(run: TurnRun, name: HookName): boolean {
  return run.hooks.has(name) && (run.open.stop === undefined || HOOK_KINDS[name].afterStop === true)
}

const HOOK_KINDS: { readonly [Name in HookName]: HookKind } = HOOK_TABLE

/** Runs all hooks of one name, in their order, as one phase of the turn. */
export async function* runPhase<Name extends HookName>(
  run: TurnRun,
  name: Name,
  make: () => DataMaker<Name> | Promise<DataMaker<Name>>,
): AsyncGenerator<Batch, void> {
  if (!isPhaseDue(run, name)) return
  if (run.draft.hasNews) yield run.commit('hooks')
  if (name === 'onComplete') await run.within(run.scope.telemetry?.completing(run.open.turn))
  // Credentials first: without them a resumed turn cannot tell the arguments of its calls.
  await turnInfo(run)
  const phase = new Phase(run)
  await phase.run(name, await make())
  phase.append({ name })
}

/** The allowed actions of a hook, under their public names. */
function allowed(name: HookName, actions: HookActions, data: object): object {
  const { add, stop, edit, reject, editPrompt, editResult } = actions
  const kind = HOOK_KINDS[name]
  const changes: { readonly [Change in NonNullable<HookKind['change']>]: () => object } = {
    prompt: () => ({ edit: editPrompt }),
    calls: () => ({ edit, reject }),
    call: () => ({ edit: (args: Json) => edit((data as { pending: PendingCall }).pending.callId, args) }),
    result: () => ({ edit: (output: Json) => editResult(callOf(data) ?? '', output) }),
  }
  return {
    ...(kind.add === undefined ? {} : { add }),
    ...(kind.stop === undefined ? {} : { stop }),
    ...(kind.change === undefined ? {} : changes[kind.change]()),
  }
}

/** No turn limits these hooks: each gets as long as a model call does by default. */
const READY_MS = 600_000

/** Runs before any turn: the one phase that changes nothing and is not in the journal. */
export async function runReadyHooks(
  hooks: HookRegistry,
  agent: HookContextOf<'onAgentReady'>,
  timer: Timer = systemTimer,
): Promise<void> {
  const context = { ...agent, metadata: frozenCopy(agent.metadata) }
  for (const { plugin, run } of hooks.of('onAgentReady'))
    try {
      const isEnded = await endsWithin((async () => run(context))(), READY_MS, timer)
      if (!isEnded) throw new Error(`it did not end within ${READY_MS} ms`)
    } catch (error) {
      const name = nameOf('onAgentReady', plugin)
      debugThrown(`The hook ${name}`, error)
      throw hookFailed(name, error, NO_SECRETS)
    }
}

function nameOf(hook: HookName, plugin: string | undefined): string {
  return plugin === undefined ? hook : `${plugin}/${hook}`
}

/** Collects the changes of one phase's hooks. */
export class Phase {
  readonly #run: TurnRun
  readonly #notes: { readonly text: string; readonly from: string }[] = []
  readonly #rejected = new Map<string, string>()
  readonly #args = new Map<string, Json>()
  readonly #results = new Map<string, Json>()
  prompt: Partial<Prompt> = {}
  #stop: StopRequest | undefined
  readonly #repairs: string[] = []

  constructor(run: TurnRun) {
    this.#run = run
  }

  /** Runs hooks one after the other: each sees the changes of those before it. */
  async run<Name extends HookName>(name: Name, make: DataMaker<Name>): Promise<void> {
    for (const hook of this.#run.hooks.of(name)) await this.#runOne(name, hook, make)
  }

  /** Appends the changes, all in one batch. */
  append(mark: { readonly name: string; readonly callId?: string }, prompt?: PhaseChanges['prompt']): void {
    const { draft } = this.#run
    const changes: PhaseChanges = {
      ...(this.#args.size === 0 ? {} : { args: Object.fromEntries(this.#args) }),
      ...(this.#results.size === 0 ? {} : { results: Object.fromEntries(this.#results) }),
      ...(prompt === undefined ? {} : { prompt }),
      ...(this.#stop === undefined ? {} : { stop: this.#stop }),
    }
    const forgotten = this.#stillRedacted()
    draft.append('phase', { ...mark, ...(Object.keys(changes).length === 0 ? {} : { changes }) })
    for (const callId of forgotten) this.#run.scope.callArguments.forget(callId)
    if (this.#repairs.length > 0)
      draft.append('warning', { code: 'prompt-repaired', message: [...new Set(this.#repairs)].join(' ') })
    for (const note of this.#notes) draft.append('note', note)
    for (const [callId, output] of this.#rejected)
      draft.append('tool.end', { callId, status: 'rejected', output })
  }

  /** The edited calls that keep the mark of a secret which only another process received. */
  #stillRedacted(): readonly string[] {
    const isForgotten = (callId: string): boolean => !this.#run.knowsArguments(callId)
    return [...this.#args].flatMap(([callId, args]) =>
      hasRedaction(args) && isForgotten(callId) ? callId : [],
    )
  }

  /** A call as the hooks before have edited it. */
  edited(call: PendingCall): PendingCall {
    return { ...call, args: latest(this.#args.get(call.callId), call.args) }
  }

  /** A result as the hooks before have edited it. */
  editedResult(result: CallResult): CallResult {
    return { ...result, output: latest(this.#results.get(result.callId), result.output) }
  }

  /** The calls that the hooks before have not rejected, as edited. */
  left(calls: readonly PendingCall[]): readonly PendingCall[] {
    return calls.filter(({ callId }) => !this.#rejected.has(callId)).map((call) => this.edited(call))
  }

  async #runOne<Name extends HookName>(
    name: Name,
    { plugin, run }: Registered<Name>,
    make: DataMaker<Name>,
  ): Promise<void> {
    const from = nameOf(name, plugin)
    const state = { isOver: false }
    const base = await hookContext(this.#run)
    const data = make(this) as object
    const context = {
      ...base,
      ...allowed(name, this.#actions(from, state), data),
      ...data,
    } as HookContextOf<Name>
    await addContextPercent(this.#run, context)
    await addTrace(this.#run, context, callOf(data))
    const { extras, key } = this.#run.scope
    const around = { contextId: key.contextId, ...extras?.(idsOfTurn(this.#run)) }
    const work = (): Promise<void> =>
      runAround(around, async () => run(context)).catch((error: unknown) => {
        throw hookFailed(from, error, this.#run.secrets)
      })
    try {
      await withinTurnOrGrace(this.#run, work)
    } finally {
      state.isOver = true
    }
  }

  #actions(from: string, state: { readonly isOver: boolean }): HookActions {
    const inTime = <Args extends readonly unknown[]>(act: (...args: Args) => void) => {
      return (...args: Args): void => {
        if (state.isOver) throw tooLate(from)
        act(...args)
      }
    }
    return {
      add: inTime((text: string) => this.#notes.push({ text: this.#text('add', text), from })),
      stop: inTime((reason?: string) => {
        this.#stop ??= { by: from, ...(reason === undefined ? {} : { reason: this.#text('stop', reason) }) }
      }),
      edit: inTime((callId: string, args: Json) => this.#args.set(this.#pending(callId), this.#json(args))),
      reject: inTime((callId: string, reason: string) => {
        this.#rejected.set(this.#pending(callId), this.#text('reject', reason))
      }),
      editResult: inTime((callId: string, output: Json) => this.#results.set(callId, this.#result(output))),
      editPrompt: inTime((changes: Partial<Prompt>) => {
        const edits = checkedPrompt(this.#json(changes))
        const messages = edits.messages === undefined ? {} : { messages: this.#legal(edits.messages) }
        this.prompt = { ...this.prompt, ...edits, ...messages }
      }),
    }
  }

  #text(power: string, text: unknown): string {
    if (typeof text === 'string' && text.trim() !== '') return text.toWellFormed()
    throw new TypeError(`${power}() takes a text that says something, not ${quote(text)}`)
  }

  #json(value: unknown): Json {
    const json = toJson(value)
    if (json instanceof Error) throw new TypeError(`The edited value is not JSON: ${json.message}`)
    return frozenCopy(json)
  }

  #result(output: unknown): Json {
    const json = this.#json(output)
    if (Buffer.byteLength(JSON.stringify(json)) <= MAX_OUTPUT_BYTES) return json
    throw new TypeError(`edit() takes a result of at most ${MAX_OUTPUT_BYTES} bytes`)
  }

  /** Repairs messages for every provider (R9), and lets a user speak last. */
  #legal(edited: readonly Message[]): readonly Message[] {
    const { messages, repairs } = importMessages(edited, { format: 'holdfast' })
    const broken = repairs.filter(({ kind }) => kind !== 'opening-added')
    this.#repairs.push(...broken.map(({ said }) => said))
    const own = broken.length === repairs.length ? messages : messages.slice(1)
    return own.at(-1)?.role === 'assistant' ? [...own, { role: 'user', content: GO_ON }] : own
  }

  #pending(callId: string): string {
    const isPending = this.#run.open.calls.some(
      (call) => call.callId === callId && call.state === 'requested',
    )
    if (isPending && !this.#rejected.has(callId)) return callId
    throw new TypeError(`no call ${quote(callId)} is pending`)
  }
}

/** An edit may be null, and counts. */
function latest(edited: Json | undefined, before: Json): Json {
  return edited === undefined ? before : edited
}

const PROMPT: readonly string[] = ['system', 'messages', 'tools'] satisfies (keyof Prompt)[]

/** Messages are checked by their repair. */
function checkedPrompt(changes: Json): Partial<Prompt> {
  if (!isObject(changes)) throw new TypeError('edit() takes an object { system, messages, tools }')
  for (const name of Object.keys(changes)) checkName('edit()', name, PROMPT)
  const { system = '', tools = [] } = changes
  if (typeof system !== 'string') throw new TypeError('edit() takes a text as system')
  if (!Array.isArray(tools) || !tools.every((name) => typeof name === 'string'))
    throw new TypeError('edit() takes a list of names as tools')
  return changes
}

/** Waits for a hook at most as long as the turn lasts; when its time is up, for the grace. */
async function withinTurnOrGrace<T>(run: TurnRun, work: () => Promise<T>): Promise<T> {
  if (!run.cancelledOrTimedOut.aborted) return run.within(work())
  const { timer, definition, cancelled, cancelledOrLost } = run.scope
  const over = new AbortController()
  // After a cancel, hooks get the grace of tools; after a loss, none.
  const ends = cancelled.aborted ? [over.signal] : [cancelledOrLost, over.signal]
  const late = timer.wait(definition.graceMs, { signal: AbortSignal.any(ends) }).then((): never => {
    throw new Interrupted('The turn did not wait for it any longer.')
  })
  try {
    return await Promise.race([work(), late])
  } finally {
    over.abort()
    late.catch(() => {})
  }
}

function turnInfo(run: TurnRun): Promise<TurnInfo> {
  return withinTurnOrGrace(run, async () => run.lookUp())
}

async function hookContext(run: TurnRun): Promise<Omit<HookContext, 'trace'>> {
  const { contextId, turn, principal, credentials, metadata, task } = await turnInfo(run)
  const { iteration, usage } = run.open
  const { view } = run.scope
  return {
    contextId,
    name: run.scope.agent ?? '',
    turn,
    iteration,
    principal,
    credentials,
    metadata,
    task,
    usage: frozenCopy(usage),
    signal: run.interrupted,
    messages: async () => frozenCopy(await view.messages()),
  }
}

async function addTrace(run: TurnRun, context: object, callId: string | undefined): Promise<void> {
  const entries = await run.scope.view.turnEntries()
  let trace: readonly TraceEntry[] | undefined
  Object.defineProperty(context, 'trace', {
    enumerable: true,
    get: () => (trace ??= hookTrace(run, entries, callId)),
  })
}

/** The settled call that a hook is about, if it is about one. */
function callOf(data: {
  readonly result?: { readonly callId: string }
  readonly error?: object
}): string | undefined {
  const { result, error = {} } = data
  return result?.callId ?? (error as { readonly callId?: string }).callId
}

/** Counting is expensive: `contextPercent` is computed on first access. */
async function addContextPercent({ scope: { view, definition } }: TurnRun, context: object): Promise<void> {
  const entries = await view.window()
  if (definition.models[0]?.contextTokens === undefined) return
  let percent: number | undefined
  Object.defineProperty(context, 'contextPercent', {
    enumerable: true,
    get: () => (percent ??= contextPercent(entries, definition.models)),
  })
}

function hookFailed(from: string, cause: unknown, secrets: Redactor): HoldfastError {
  const why = thrownText(cause, secrets)
  return new HoldfastError('hook-failed', {
    message: `The hook ${from} failed: ${why}`,
    details: { hook: from },
    cause,
  })
}

function tooLate(from: string): TypeError {
  return new TypeError(
    `The hook ${from} has returned: call this before it returns, and await its asynchronous work`,
  )
}
