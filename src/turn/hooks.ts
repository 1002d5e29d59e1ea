/**
 * Runs the hooks of one phase and says what they did (R8). What was said before is durable by then, so hooks are told
 * of nothing that might be lost. The phase and what it changed go into the journal together, with whatever the turn
 * does next; a process that dies before that runs the hooks again.
 */
import { debugThrown } from '../base/index.ts'
import type {
  DataOf,
  HookRegistry,
  PendingCall,
  PointOf,
  Prompt,
  Registered,
  TurnPoint,
} from '../hook/index.ts'
import { importMessages } from '../journal/index.ts'
import type { Batch } from '../loop/index.ts'
import { Interrupted } from '../loop/index.ts'
import {
  checkName,
  HOOK_TABLE,
  HoldfastError,
  type HookKind,
  type HookName,
  type Json,
  type JsonObject,
  type Message,
  type PhaseChanges,
  quote,
  type StopRequest,
} from '../protocol/index.ts'
import { NO_SECRETS, type Redactor, runAround, thrownText, toJson } from '../tool/index.ts'
import { contextPercent, firstContextSize } from './context.ts'
import { idsOfTurn } from './ids-above.ts'
import type { TurnRun } from './turn-run.ts'

/** Everything that a hook can do; each is given what its row of the table allows. */
interface HookActions {
  readonly add: (text: string) => void
  readonly stop: (reason?: string) => void
  readonly edit: (callId: string, args: Json) => void
  readonly reject: (callId: string, reason: string) => void
  readonly editPrompt: (changes: Partial<Prompt>) => void
}

/** What the hook receives beside what all hooks do. Called for each hook: it sees what those before it have changed. */
export type DataMaker<Name extends HookName> = (phase: Phase) => DataOf<Name>

/** Is there a hook of this name, and is it to run now? */
export function isDue(play: TurnRun, name: HookName): boolean {
  return play.hooks.has(name) && (play.open.stop === undefined || HOOK_KINDS[name].afterStop === true)
}

const HOOK_KINDS: { readonly [Name in HookName]: HookKind } = HOOK_TABLE

/** All the hooks of one name, in their order, as one phase of the turn. */
export async function* runPhase<Name extends HookName>(
  play: TurnRun,
  name: Name,
  make: () => DataMaker<Name> | Promise<DataMaker<Name>>,
): AsyncGenerator<Batch, void> {
  if (!isDue(play, name)) return
  if (play.draft.hasNews) yield* play.commit('hooks')
  const phase = new Phase(play)
  await phase.run(name, await make())
  phase.say({ name })
}

/** The actions of a hook under the names that it knows them by. */
function allowed(name: HookName, { add, stop, edit, reject, editPrompt }: HookActions, data: object): object {
  const kind = HOOK_KINDS[name]
  const changes: { readonly [Change in NonNullable<HookKind['change']>]: () => object } = {
    prompt: () => ({ edit: editPrompt }),
    calls: () => ({ edit, reject }),
    call: () => ({ edit: (args: Json) => edit((data as { pending: PendingCall }).pending.callId, args) }),
  }
  return {
    ...(kind.add === undefined ? {} : { add }),
    ...(kind.stop === undefined ? {} : { stop }),
    ...(kind.change === undefined ? {} : changes[kind.change]()),
  }
}

/** Before there is any turn: the one phase that changes nothing and is not in the journal. */
export async function runReadyHooks(hooks: HookRegistry, point: PointOf<'onAgentReady'>): Promise<void> {
  for (const { plugin, run } of hooks.of('onAgentReady'))
    try {
      await run(point)
    } catch (error) {
      const name = nameOf('onAgentReady', plugin)
      debugThrown(`The hook ${name}`, error)
      throw hookFailed(name, error, NO_SECRETS)
    }
}

function nameOf(hook: HookName, plugin: string | undefined): string {
  return plugin === undefined ? hook : `${plugin}/${hook}`
}

/** What the hooks of one phase want. */
export class Phase {
  readonly #play: TurnRun
  readonly #notes: { readonly text: string; readonly from: string }[] = []
  readonly #rejected = new Map<string, string>()
  readonly #args = new Map<string, Json>()
  prompt: Partial<Prompt> = {}
  #stop: StopRequest | undefined
  readonly #repairs: string[] = []

  constructor(play: TurnRun) {
    this.#play = play
  }

  /** One after the other: each finds what those before it have changed. */
  async run<Name extends HookName>(name: Name, make: DataMaker<Name>): Promise<void> {
    for (const hook of this.#play.hooks.of(name)) await this.#runOne(name, hook, make)
  }

  /** Says what was changed, all in one append. */
  say(mark: { readonly name: string; readonly callId?: string }, prompt?: PhaseChanges['prompt']): void {
    const { draft } = this.#play
    const changes: PhaseChanges = {
      ...(this.#args.size === 0 ? {} : { args: Object.fromEntries(this.#args) }),
      ...(prompt === undefined ? {} : { prompt }),
      ...(this.#stop === undefined ? {} : { stop: this.#stop }),
    }
    draft.append('phase', { ...mark, ...(Object.keys(changes).length === 0 ? {} : { changes }) })
    if (this.#repairs.length > 0)
      draft.append('warning', { code: 'prompt-repaired', message: [...new Set(this.#repairs)].join(' ') })
    for (const note of this.#notes) draft.append('note', note)
    for (const [callId, output] of this.#rejected)
      draft.append('tool.end', { callId, status: 'rejected', output })
  }

  /** A call as those before want it. */
  edited(call: PendingCall): PendingCall {
    return { ...call, args: this.#args.get(call.callId) ?? call.args }
  }

  /** The calls that those before want run, and as they want them. */
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
    const base = await turnPoint(this.#play)
    const data = make(this) as object
    const point = { ...base, ...allowed(name, this.#actions(from, state), data), ...data } as PointOf<Name>
    await tellContext(this.#play, point)
    try {
      const { extras, key } = this.#play.scope
      const around = { contextId: key.contextId, ...extras?.(idsOfTurn(this.#play)) }
      await patiently(this.#play, () => runAround(around, async () => run(point)))
    } catch (error) {
      if (error instanceof Interrupted) throw error
      throw hookFailed(from, error, this.#play.secrets)
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
      editPrompt: inTime((changes: Partial<Prompt>) => {
        const wanted = checkedPrompt(this.#json(changes))
        const messages = wanted.messages === undefined ? {} : { messages: this.#legal(wanted.messages) }
        this.prompt = { ...this.prompt, ...wanted, ...messages }
      }),
    }
  }

  #text(power: string, text: unknown): string {
    if (typeof text === 'string' && text.trim() !== '') return text.toWellFormed()
    throw new TypeError(`${power}() takes a text that says something, not ${quote(text)}`)
  }

  #json(value: unknown): Json {
    const json = toJson(value)
    if (json instanceof Error) throw new TypeError(`what it was changed to cannot be kept: ${json.message}`)
    return json
  }

  /** Rounds as every provider wants them (R9), and somebody who speaks last. */
  #legal(wanted: readonly Message[]): readonly Message[] {
    const { messages, repairs } = importMessages(wanted, { format: 'holdfast' })
    const broken = repairs.filter(({ kind }) => kind !== 'opening-added')
    this.#repairs.push(...broken.map(({ said }) => said))
    const own = broken.length === repairs.length ? messages : messages.slice(1)
    return own.at(-1)?.role === 'assistant' ? [...own, { role: 'user', content: 'Go on.' }] : own
  }

  #pending(callId: string): string {
    const isPending = this.#play.open.calls.some(
      (call) => call.callId === callId && call.state === 'requested',
    )
    if (isPending && !this.#rejected.has(callId)) return callId
    throw new TypeError(`no call ${quote(callId)} is pending`)
  }
}

const PROMPT: readonly string[] = ['system', 'messages', 'tools'] satisfies (keyof Prompt)[]

/** Messages are looked at by whoever repairs them. */
function checkedPrompt(changes: Json): Partial<Prompt> {
  if (typeof changes !== 'object' || changes === null || Array.isArray(changes))
    throw new TypeError('edit() takes an object { system, messages, tools }')
  for (const name of Object.keys(changes)) checkName('edit()', name, PROMPT)
  const { system = '', tools = [] } = changes as JsonObject
  if (typeof system !== 'string') throw new TypeError('edit() takes a text as system')
  if (!Array.isArray(tools) || !tools.every((name) => typeof name === 'string'))
    throw new TypeError('edit() takes a list of names as tools')
  return changes as Partial<Prompt>
}

/** A hook may hang; the turn does not wait for it longer than it lasts itself, and if its time is up a little longer. */
async function patiently<T>(play: TurnRun, run: () => Promise<T>): Promise<T> {
  if (!play.signal.aborted) return play.within(run())
  const { timer, definition, stop, signal } = play.scope
  const over = new AbortController()
  // A cancel aborts both: hooks get the time that tools get. Only `stop` alone means that another driver has the turn.
  const ends = signal.aborted ? [over.signal] : [stop, over.signal]
  const late = timer.wait(definition.graceMs, { signal: AbortSignal.any(ends) }).then((): never => {
    throw new Interrupted('The turn did not wait for it any longer.')
  })
  try {
    return await Promise.race([run(), late])
  } finally {
    over.abort()
    late.catch(() => {})
  }
}

async function turnPoint(play: TurnRun): Promise<TurnPoint> {
  const { contextId, turn, principal, credentials, metadata, task } = await patiently(play, async () =>
    play.lookUp(),
  )
  const { iteration, usage } = play.open
  const { view } = play.scope
  return {
    contextId,
    turn,
    iteration,
    principal,
    credentials,
    metadata,
    task,
    usage,
    signal: play.stop,
    messages: async () => view.messages(),
  }
}

/** How full the context is has to be counted, so this is done for those who look. */
async function tellContext({ scope: { view, definition } }: TurnRun, point: object): Promise<void> {
  const entries = await view.window()
  if (firstContextSize(definition.models) === undefined) return
  let percent: number | undefined
  Object.defineProperty(point, 'contextPercent', {
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
  return new TypeError(`The hook ${from} is over; do this before it returns, and await what it waits for`)
}
