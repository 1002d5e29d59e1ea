/**
 * Call arguments kept in memory only: the unredacted ones (R19), and the parsed ones that a person was asked to approve.
 * A process without the unredacted ones does not run the call. The parsed ones stay until the call starts: a schema may
 * make others next time.
 */
import { isDeepStrictEqual } from 'node:util'
import { canonical, type EntryData, type Json, type JsonObject } from '../protocol/index.ts'
import { REDACTED, type Redactor } from '../tool/index.ts'

/** The bound of calls that wait for an approval at the same time. */
const MAX_CALLS = 1000

export class CallArguments {
  readonly #args = new Map<string, Json>()
  readonly #inputs = new Map<string, KeptInput>()

  /**
   * Keeps the arguments that differ in `safe`, the entry as it will be stored, and those in which the model itself wrote
   * the mark of a redaction: the journal cannot distinguish the two.
   */
  follow(type: string, data: JsonObject, safe: JsonObject): void {
    if (type === 'tool.start' || type === 'tool.end')
      this.#inputs.delete((data as EntryData['tool.start' | 'tool.end']).callId)
    if (type === 'tool.end') this.#args.delete((data as EntryData['tool.end']).callId)
    const written = argsIn(type, data)
    if (written === undefined) return
    const stored = data === safe ? written : argsIn(type, safe)
    for (const [callId, args] of written) {
      const isWhole = stored?.get(callId) === args && !hasRedaction(args)
      if (isWhole) this.#args.delete(callId)
      else this.#keep(callId, args)
    }
  }

  /** The arguments to run the call with; undefined if this process does not have them. */
  of(call: CallArgs, secrets: Redactor): Json | undefined {
    const known = this.#args.get(call.callId)
    // This process must know the same secrets, or results that contain them would be stored.
    if (known !== undefined && canonical(secrets.json(known)) === canonical(call.args)) return known
    return hasRedaction(call.args) ? undefined : call.args
  }

  /** The arguments are as stored: a mark in them stands for a secret that this process does not have. */
  forget(callId: string): void {
    this.#args.delete(callId)
  }

  /** Keeps what a schema made of the arguments, until the call starts. */
  keepInput({ callId, args }: CallArgs, input: unknown): void {
    bound(this.#inputs.set(callId, { args, input }))
  }

  /** What a schema made of these arguments, in an object: it may be undefined. */
  inputOf({ callId, args }: CallArgs): Pick<KeptInput, 'input'> | undefined {
    const kept = this.#inputs.get(callId)
    return kept !== undefined && isDeepStrictEqual(kept.args, args) ? kept : undefined
  }

  #keep(callId: string, args: Json): void {
    bound(this.#args.set(callId, args))
  }
}

type CallArgs = { readonly callId: string; readonly args: Json }

interface KeptInput {
  readonly args: Json
  readonly input: unknown
}

/** Drops the oldest of too many. */
function bound(map: Map<string, unknown>): void {
  const [oldest] = map.keys()
  if (map.size > MAX_CALLS && oldest !== undefined) map.delete(oldest)
}

/** The arguments that the entry gives to calls, by call; undefined for an entry without any. */
function argsIn(type: string, data: JsonObject): ReadonlyMap<string, Json> | undefined {
  if (type !== 'model.end' && type !== 'phase') return undefined
  const args = new Map<string, Json>()
  if (type === 'model.end')
    for (const part of (data as EntryData['model.end']).content)
      if (part.type === 'tool-call') args.set(part.callId, part.args)
  if (type === 'phase')
    for (const [callId, changed] of Object.entries((data as EntryData['phase']).changes?.args ?? {}))
      args.set(callId, changed)
  return args
}

/** True if a secret was removed from the value before it was stored. */
export function hasRedaction(value: Json): boolean {
  if (typeof value === 'string') return value.includes(REDACTED)
  if (typeof value !== 'object' || value === null) return false
  const fields = value as JsonObject
  for (const key in fields) if (key.includes(REDACTED) || hasRedaction(fields[key] ?? null)) return true
  return false
}
