/** One running turn: its scope, its draft, and its lookups. */
import { chain, isPromise, type MaybePromise } from '../base/index.ts'
import { checkMarkedEntities } from '../grounding/index.ts'
import type { HookRegistry } from '../hook/index.ts'
import type { Call } from '../journal/index.ts'
import { DEFAULT_LIMITS, dataOf, type Limits, RunBase, storedLimits } from '../loop/index.ts'
import {
  type Entry,
  type EntryData,
  type JsonObject,
  type Message,
  type SentHashes,
  textOf,
} from '../protocol/index.ts'
import { checkTools, jsonSchema, type PreviousTool, type Redactor, type Tool } from '../tool/index.ts'
import { type TurnInfo } from './definition.ts'
import { frozenCopy } from './frozen-copy.ts'
import { lastOf } from './last-of.ts'
import { modelSecrets } from './model-secrets.ts'
import type { OutputSchema } from './output-schema.ts'
import type { TurnScope } from './scope.ts'

export class TurnRun extends RunBase<TurnScope> {
  /** Settled calls whose hooks have started here; those still in `open.ended` were interrupted. */
  readonly notified: Set<string> = new Set()
  /** Exceptions of tools in this process, by call. */
  readonly thrown: Map<string, unknown> = new Map()
  /** The hashes of the last model request; absent if none was sent. */
  sent: SentHashes | undefined
  #limits: Limits | undefined
  #info: MaybePromise<TurnInfo> | undefined
  #tools: MaybePromise<readonly Tool[]> | undefined
  #output: MaybePromise<OutputSchema> | undefined

  get hooks(): HookRegistry {
    return this.scope.definition.hooks
  }

  get limits(): Limits {
    this.#limits ??= this.#findLimits()
    return this.#limits
  }

  protected get durationMs(): number | undefined {
    return this.limits.durationMs
  }

  protected override get ownSecrets(): Redactor {
    const { models, compact } = this.scope.definition
    return modelSecrets(compact?.model === undefined ? models : [...models, compact.model])
  }

  /** The calls of the turn that are not settled, with the arguments to run them with. */
  get calls(): readonly Call[] {
    const { calls } = this.open
    return this.secrets.isEmpty ? calls : calls.map((call) => this.#whole(call))
  }

  call(callId: string): Call | undefined {
    const found = this.open.calls.find((candidate) => candidate.callId === callId)
    return found && this.#whole(found)
  }

  /** False if the arguments lack a secret that only another process received. */
  knowsArguments(callId: string): boolean {
    const found = this.open.calls.find((candidate) => candidate.callId === callId)
    return found === undefined || this.scope.callArguments.of(found, this.secrets) !== undefined
  }

  #whole(call: Call): Call {
    const args = this.scope.callArguments.of(call, this.secrets)
    return args === undefined || args === call.args ? call : { ...call, args }
  }

  info(): MaybePromise<TurnInfo> {
    return this.within(this.lookUp())
  }

  /** `info` without the turn's time limit. */
  lookUp(): MaybePromise<TurnInfo> {
    this.#info ??= this.#findInfo()
    return this.#info
  }

  tools(): MaybePromise<readonly Tool[]> {
    const { fixedTools } = this.scope.definition
    if (fixedTools !== undefined) return fixedTools
    this.#tools ??= this.#findTools()
    return this.within(this.#tools)
  }

  /** True if tools and principal are known, so that no config function is called for them. */
  get isLookedUp(): boolean {
    return isHere(this.#info) && isHere(this.scope.definition.fixedTools ?? this.#tools)
  }

  /** The schema that the last reply has to fit, if there is one: the turn's own, or that of the definition. */
  output(): MaybePromise<OutputSchema | undefined> {
    const { outputSchema } = this.session
    if (outputSchema === undefined) return this.scope.definition.output
    this.#output ??= this.#ownOutput(outputSchema)
    return this.#output
  }

  /** In a process that was not given the schema itself, its JSON Schema validates. */
  #ownOutput(json: JsonObject): MaybePromise<OutputSchema> {
    return chain(this.scope.view.turnEntries(), (entries) => {
      const keys = this.#inputs(entries).flatMap(({ key }) => key ?? [])
      const known = this.scope.schemaNamed?.([...keys, JSON.stringify(json)])
      this.#output = { json, schema: known ?? jsonSchema(json) }
      return this.#output
    })
  }

  /** Settled calls of this turn, oldest first, from the entries of the turn. */
  previousTools(entries: readonly Entry[]): readonly PreviousTool[] {
    const names = new Map<string, string>()
    const previous: PreviousTool[] = []
    const current = this.open.turn
    const before = entries.findLastIndex(({ turn }) => turn > 0 && turn < current)
    for (const { type, turn, data } of entries.slice(before + 1)) {
      if (turn !== current) continue
      if (type === 'model.end')
        for (const part of (data as EntryData['model.end']).content)
          if (part.type === 'tool-call') names.set(part.callId, part.tool)
      if (type !== 'tool.end') continue
      const { callId, status } = data as EntryData['tool.end']
      const tool = names.get(callId)
      if (tool !== undefined) previous.push({ tool, status })
    }
    return previous
  }

  #findLimits(): Limits {
    return { ...DEFAULT_LIMITS, ...this.scope.definition.limits, ...storedLimits(this.open.limits) }
  }

  #findTools(): MaybePromise<readonly Tool[]> {
    const found = chain(this.info(), (info) => this.scope.definition.tools(info))
    return chain(found, (tools) => {
      checkTools(tools)
      checkMarkedEntities(tools, this.scope.definition.grounding.entities)
      this.#tools = tools
      return tools
    })
  }

  #findInfo(): MaybePromise<TurnInfo> {
    return chain(this.findCredentials(), (credentials = {}) =>
      chain(this.#task(), (task) => {
        const { turn, principal, metadata = NO_METADATA } = this.open
        const { contextId } = this.scope.key
        // The session shares these objects, and no tool may change them.
        const info = {
          contextId,
          turn,
          principal: frozenCopy(principal),
          metadata: metadata === NO_METADATA ? metadata : frozenCopy(metadata),
          credentials,
          task,
        }
        this.#info = info
        return info
      }),
    )
  }

  /** The text of the turn's input; of a continued turn, the last user message. */
  #task(): MaybePromise<string> {
    return chain(this.scope.view.window(), (entries) => this.#askedIn(entries))
  }

  /** The inputs that the turn began with. */
  #inputs(entries: readonly Entry[]): readonly Entry[] {
    const current = this.open.turn
    const start = lastOf(entries, 'turn.start', ({ turn }) => turn === current)
    return (start?.takes ?? []).flatMap((taken) => {
      const entry = entries.findLast(({ seq }) => seq === taken)
      return entry?.type === 'input' ? [entry] : []
    })
  }

  #askedIn(entries: readonly Entry[]): MaybePromise<string> {
    const inputs = this.#inputs(entries)
    if (inputs.length > 0) return inputs.map((entry) => textOf(dataOf(entry, 'input').message)).join('\n')
    // Messages after the calls that the turn continues are not their task.
    const isBetween = this.open.calls.length === 0
    return chain(this.scope.view.messages(), (messages) => {
      const end = isBetween ? -1 : messages.findLastIndex(({ role }) => role === 'assistant')
      const before = end < 0 ? messages : messages.slice(0, end)
      return textOf(before.findLast(isFromUser)?.content ?? '')
    })
  }
}

function isHere(value: unknown): boolean {
  return value !== undefined && !isPromise(value)
}

function isFromUser(message: Message): message is Extract<Message, { role: 'user' }> {
  return message.role === 'user'
}

const NO_METADATA: JsonObject = Object.freeze({})
