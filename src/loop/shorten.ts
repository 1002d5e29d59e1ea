/**
 * Cuts entries that a store refused as too large. Results and replies keep their beginning and say that the rest is
 * missing; other entries are not cut.
 */
import type {
  AssistantPart,
  EntryData,
  HoldfastError,
  Json,
  JsonObject,
  NewEntry,
} from '../protocol/index.ts'
import { cutOutput } from '../tool/index.ts'

/**
 * The entries with the smallest cut that may help: each one over the limit is cut in its largest part; if none is, or
 * the limit is unknown, the largest entry that can be cut. Undefined if that is not enough. No part is cut twice, so
 * retries come to an end.
 */
export function shortened(
  entries: readonly NewEntry[],
  refusal: HoldfastError,
): readonly NewEntry[] | undefined {
  const { limit } = refusal.details
  const most = typeof limit === 'number' ? limit : undefined
  const sizes = entries.map(({ data }) => bytesOf(data))
  const over = most === undefined ? [] : [...entries.keys()].filter((at) => (sizes[at] ?? 0) > most)
  const cuts = new Map<number, NewEntry>()
  for (const at of over) {
    const cut = cutEntry(entries[at] as NewEntry, most)
    if (cut === undefined) return undefined
    cuts.set(at, cut)
  }
  const bySize = [...entries.keys()].sort((a, b) => (sizes[b] ?? 0) - (sizes[a] ?? 0))
  for (const at of cuts.size > 0 ? [] : bySize) {
    const cut = cutEntry(entries[at] as NewEntry, undefined)
    if (cut === undefined) continue
    cuts.set(at, cut)
    break
  }
  if (cuts.size === 0) return undefined
  return entries.flatMap((entry, at) => {
    const cut = cuts.get(at)
    if (cut === undefined) return [entry]
    return entry.type === 'model.end' ? [cut, replyWarning(entry)] : [cut]
  })
}

/** A result that is too large, cut; undefined if it was cut before. */
export function cutResult<D extends EntryData['late-result']>(data: D, limit?: number): D | undefined {
  const { status, output, cut } = data
  if (cut) return undefined
  return { ...data, output: cutOutput({ status, output, bytes: bytesOf(output), limit }), cut: true }
}

const LARGE = 64 * 1024

/** True if a store may refuse the value for its size: then entries that depend on it wait until it is stored. */
export function isLarge(value: object): boolean {
  return mostBytes(value) > LARGE && bytesOf(value) > LARGE
}

/** An upper bound of the size as JSON, at six bytes a character. Cheap: most values are small. */
function mostBytes(value: unknown): number {
  if (typeof value === 'string') return 6 * value.length + 2
  if (typeof value !== 'object' || value === null) return 30
  let bytes = 2
  if (Array.isArray(value)) for (const item of value) bytes += mostBytes(item) + 1
  else
    for (const key of Object.keys(value)) bytes += 6 * key.length + 4 + mostBytes((value as JsonObject)[key])
  return bytes
}

function cutEntry(entry: NewEntry, limit: number | undefined): NewEntry | undefined {
  const data = cutData(entry, limit)
  return data === undefined || bytesOf(data) >= bytesOf(entry.data) ? undefined : { ...entry, data }
}

function cutData({ type, data }: NewEntry, limit: number | undefined): NewEntry['data'] | undefined {
  if (type === 'tool.end') return cutToolEnd(data as EntryData['tool.end'], limit)
  if (type === 'effect.end') return cutResult(data as EntryData['effect.end'], limit)
  if (type === 'model.end') return cutReply(data as EntryData['model.end'])
  return undefined
}

const SHOWN_TO_PEOPLE = 2000

function cutToolEnd(data: EntryData['tool.end'], limit?: number): EntryData['tool.end'] | undefined {
  const { output, display = '', seen = [] } = data
  const [forModel, forPeople, ids] = [bytesOf(output), bytesOf(display), bytesOf(seen)]
  if (forPeople > Math.max(forModel, ids))
    return { ...data, display: `${display.slice(0, SHOWN_TO_PEOPLE)}…`.toWellFormed() }
  if (ids > forModel) {
    const { seen: _, ...rest } = data
    return rest
  }
  return cutResult(data, limit)
}

const SHOWN_OF_REPLY = 64 * 1024

/** Cuts the largest part, and drops what the provider attached to it. */
function cutReply(data: EntryData['model.end']): EntryData['model.end'] | undefined {
  const sizes = data.content.map(bytesOf)
  const largest = sizes.indexOf(Math.max(...sizes))
  const part = data.content[largest]
  if (part === undefined) return undefined
  return { ...data, content: data.content.with(largest, cutPart(part, sizes[largest] ?? 0)) }
}

function cutPart(part: AssistantPart, bytes: number): AssistantPart {
  const { provider: _, ...rest } = part
  if (rest.type !== 'tool-call') return { ...rest, text: beginning(rest.text) }
  const args = typeof rest.args === 'string' ? rest.args : JSON.stringify(rest.args)
  const malformed = `they have ${bytes} bytes, more than can be stored, and only their beginning was kept. Give less at a time`
  return { ...rest, args: beginning(args), malformed }
}

function beginning(text: string): string {
  return text.slice(0, SHOWN_OF_REPLY).toWellFormed()
}

function replyWarning({ turn, data }: NewEntry): NewEntry {
  const message = `The reply has ${bytesOf(data)} bytes, more than can be stored. Its long parts were cut off.`
  return { type: 'warning', turn, data: { code: 'too-large', message } }
}

function bytesOf(value: Json | object): number {
  return Buffer.byteLength(JSON.stringify(value))
}
