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

/** Finds the result of each call, and reports results that were moved, repeated, or without a call. */
export function pairUp(items: readonly HistoryItem[], note: Note): readonly PairedCall[] {
  const calls = callsIn(items)
  const candidates = matching(calls)
  const early: FoundResult[] = []
  for (const found of resultsIn(items)) {
    const before = candidates(found.result).filter(({ index }) => index < found.index)
    const open = before.filter(({ result }) => result === undefined)
    const group = open.at(-1)?.group
    const call = open.find((candidate) => candidate.group === group)
    if (call !== undefined) settle(call, found, { items, note })
    else if (before.length > 0) note(found.at, 'result-duplicate', duplicateText(found.result))
    else early.push(found)
  }
  for (const found of early) {
    const after = candidates(found.result)
    const call = after.find(({ result }) => result === undefined)
    if (call !== undefined) settle(call, found, { items, note })
    else if (after.length > 0) note(found.at, 'result-duplicate', duplicateText(found.result))
    else note(found.at, 'result-orphan', orphanText(found.result))
  }
  return calls
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

/** The candidate calls of a result, in order: by id where both have one, else by the tool's name. */
function matching(calls: readonly PairedCall[]): (result: ForeignResult) => readonly PairedCall[] {
  const byId = Map.groupBy(calls, ({ call }) => call.id)
  const byTool = Map.groupBy(calls, ({ call }) => call.tool)
  const unnamed = Map.groupBy(byId.get(undefined) ?? [], ({ call }) => call.tool)
  return ({ id, tool }) => {
    if (id === undefined) return tool === undefined ? [] : (byTool.get(tool) ?? [])
    return byId.get(id) ?? (tool === undefined ? [] : (unnamed.get(tool) ?? []))
  }
}

function settle(
  call: PairedCall,
  found: FoundResult,
  { items, note }: { items: readonly HistoryItem[]; note: Note },
): void {
  call.result = found.result
  const isNext =
    found.index > call.index &&
    items.slice(call.index + 1, found.index).every(({ kind }) => kind === 'results')
  if (!isNext)
    note(found.at, 'result-moved', `${named(found.result)} was moved to right after the message that asked.`)
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
