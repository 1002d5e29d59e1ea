/**
 * Pairs calls with results in an untrusted history: ids may be missing, repeated or wrong, and results may be anywhere.
 * Every call gets at most one result and every result at most one call.
 */
import { quote } from '../../protocol/index.ts'
import type { ForeignCall, ForeignResult, HistoryItem, RepairKind } from './foreign.ts'

export interface PairedCall {
  readonly index: number
  readonly at: number
  readonly call: ForeignCall
  /** Consecutive replies are one group: their results may come together. */
  readonly group: number
  result?: ForeignResult
}

interface FoundResult {
  readonly index: number
  readonly at: number
  readonly result: ForeignResult
}

export type Note = (at: number, kind: RepairKind, text: string) => void

/**
 * Finds the result of each call, and reports results that were moved, repeated, or without a call. A history may name all
 * its calls alike, so no result searches all calls of its name.
 */
export function pairUp(items: readonly HistoryItem[], note: Note): readonly PairedCall[] {
  const calls = callsIn(items)
  const candidates = matching(calls)
  const settle = settling(items, note)
  const early: FoundResult[] = []
  for (const found of resultsIn(items)) {
    const alike = candidates(found.result)
    const call = alike?.newestOpen(found.index)
    if (call !== undefined) settle(call, found)
    else if (alike?.hasBefore(found.index)) note(found.at, 'result-duplicate', duplicateText(found.result))
    else early.push(found)
  }
  for (const found of early) {
    const alike = candidates(found.result)
    const call = alike?.oldestOpen()
    if (call !== undefined) settle(call, found)
    else if (alike !== undefined) note(found.at, 'result-duplicate', duplicateText(found.result))
    else note(found.at, 'result-orphan', orphanText(found.result))
  }
  return calls
}

/** Calls that a result may belong to, in their order. */
class Candidates {
  readonly #calls: readonly PairedCall[]
  /** Calls before the last position asked for, by group; groups without an open call are dropped from the end. */
  readonly #groups: { readonly calls: PairedCall[]; settled: number }[] = []
  #grouped = 0
  #settled = 0

  constructor(calls: readonly PairedCall[]) {
    this.#calls = calls
  }

  hasBefore(index: number): boolean {
    const [first] = this.#calls
    return first !== undefined && first.index < index
  }

  /** The first call without a result in the newest group that has one. Positions must not decrease. */
  newestOpen(before: number): PairedCall | undefined {
    for (let call = this.#calls[this.#grouped]; call !== undefined && call.index < before; ) {
      const last = this.#groups.at(-1)
      if (last?.calls[0]?.group === call.group) last.calls.push(call)
      else this.#groups.push({ calls: [call], settled: 0 })
      this.#grouped += 1
      call = this.#calls[this.#grouped]
    }
    for (let group = this.#groups.at(-1); group !== undefined; group = this.#groups.at(-1)) {
      while (group.calls[group.settled]?.result !== undefined) group.settled += 1
      const open = group.calls[group.settled]
      if (open !== undefined) return open
      this.#groups.pop()
    }
    return undefined
  }

  oldestOpen(): PairedCall | undefined {
    while (this.#calls[this.#settled]?.result !== undefined) this.#settled += 1
    return this.#calls[this.#settled]
  }
}

function callsIn(items: readonly HistoryItem[]): readonly PairedCall[] {
  const calls: PairedCall[] = []
  let group = 0
  for (const [index, one] of items.entries()) {
    if (one.kind !== 'assistant') group += 1
    else
      for (const call of one.parts)
        if (call.type === 'tool-call') calls.push({ index, at: one.at, call, group })
  }
  return calls
}

function resultsIn(items: readonly HistoryItem[]): readonly FoundResult[] {
  return items.flatMap((one, index) =>
    one.kind === 'results' ? one.results.map((result) => ({ index, at: one.at, result })) : [],
  )
}

/** Finds the candidates of a result: by id where both have one, else by the tool's name. */
function matching(calls: readonly PairedCall[]): (result: ForeignResult) => Candidates | undefined {
  const byId = candidatesBy(calls, ({ call }) => call.id)
  const byTool = candidatesBy(calls, ({ call }) => call.tool)
  const unnamed = candidatesBy(
    calls.filter(({ call }) => call.id === undefined),
    ({ call }) => call.tool,
  )
  return ({ id, tool }) => {
    const byName = tool === undefined ? undefined : (id === undefined ? byTool : unnamed).get(tool)
    return id === undefined ? byName : (byId.get(id) ?? byName)
  }
}

function candidatesBy<K>(
  calls: readonly PairedCall[],
  keyOf: (call: PairedCall) => K,
): ReadonlyMap<K, Candidates> {
  const groups = Map.groupBy(calls, keyOf)
  return new Map([...groups].map(([key, group]) => [key, new Candidates(group)]))
}

function settling(items: readonly HistoryItem[], note: Note): (call: PairedCall, found: FoundResult) => void {
  // By position: how many items before it are no results.
  const others = [0]
  for (const { kind } of items) others.push((others.at(-1) ?? 0) + (kind === 'results' ? 0 : 1))
  return (call, found) => {
    call.result = found.result
    const isNext = found.index > call.index && others[call.index + 1] === others[found.index]
    if (!isNext)
      note(
        found.at,
        'result-moved',
        `${named(found.result)} was moved to right after the message that asked.`,
      )
  }
}

function duplicateText(result: ForeignResult): string {
  return `${named(result)} was left out: that call has a result already.`
}

/** Dropped: as a user message it would pass for the user's words. */
function orphanText(result: ForeignResult): string {
  return `${named(result)} was left out: no message asks for that call.`
}

function named({ id, tool }: ForeignResult): string {
  if (id !== undefined) return `The result of the call ${quote(id)}`
  return tool === undefined ? 'A result that names no call' : `A result of the tool ${quote(tool)}`
}
