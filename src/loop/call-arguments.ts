/**
 * The arguments of calls as the model wrote them, where the journal has them redacted (R19). They are kept in memory
 * only: a process that has not received them does not run the call.
 */
import { canonical, type EntryData, type Json, type JsonObject } from '../protocol/index.ts'
import { REDACTED, type Redactor } from '../tool/index.ts'

/** The bound of calls that wait for an approval at the same time. */
const MAX_CALLS = 1000

export class CallArguments {
  readonly #args = new Map<string, Json>()

  /**
   * Keeps the arguments that differ in `safe`, the entry as it will be stored, and those in which the model itself wrote
   * the mark of a redaction: the journal cannot distinguish the two.
   */
  follow(type: string, data: JsonObject, safe: JsonObject): void {
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
  of(call: { readonly callId: string; readonly args: Json }, secrets: Redactor): Json | undefined {
    const known = this.#args.get(call.callId)
    // This process must know the same secrets, or results that contain them would be stored.
    if (known !== undefined && canonical(secrets.json(known)) === canonical(call.args)) return known
    return hasRedaction(call.args) ? undefined : call.args
  }

  /** The arguments are as stored: a mark in them stands for a secret that this process does not have. */
  forget(callId: string): void {
    this.#args.delete(callId)
  }

  #keep(callId: string, args: Json): void {
    this.#args.set(callId, args)
    const [oldest] = this.#args.keys()
    if (this.#args.size > MAX_CALLS && oldest !== undefined) this.#args.delete(oldest)
  }
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
