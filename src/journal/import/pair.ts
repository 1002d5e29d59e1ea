/**
 * Pairs calls with results in an untrusted history: ids may be missing, repeated or wrong, and results may be anywhere.
 * Every call gets at most one result and every result at most one call.
 */
import { quote } from '../../protocol/index.ts'
import type { ForeignCall, ForeignResult, RepairKind, Said } from './foreign.ts'

/** A call, and the index of its reply. */
export interface Asked {
  readonly index: number
  readonly at: number
  readonly call: ForeignCall
  /** Consecutive replies are one group: their results may come together. */
  readonly group: number
  result?: ForeignResult
}

interface Found {
  readonly index: number
  readonly at: number
  readonly result: ForeignResult
}

export type Note = (at: number, kind: RepairKind, said: string) => void

/** Finds the result of each call, and reports results that were moved, repeated, or without a call. */
export function pairUp(said: readonly Said[], note: Note): readonly Asked[] {
  const asked = callsIn(said)
  const candidates = matching(asked)
  const early: Found[] = []
  for (const found of resultsIn(said)) {
    const before = candidates(found.result).filter(({ index }) => index < found.index)
    const open = before.filter(({ result }) => result === undefined)
    const group = open.at(-1)?.group
    const call = open.find((candidate) => candidate.group === group)
    if (call !== undefined) settle(call, found, { said, note })
    else if (before.length > 0) note(found.at, 'result-duplicate', duplicate(found.result))
    else early.push(found)
  }
  for (const found of early) {
    const after = candidates(found.result)
    const call = after.find(({ result }) => result === undefined)
    if (call !== undefined) settle(call, found, { said, note })
    else if (after.length > 0) note(found.at, 'result-duplicate', duplicate(found.result))
    else note(found.at, 'result-orphan', orphan(found.result))
  }
  return asked
}

function callsIn(said: readonly Said[]): readonly Asked[] {
  const asked: Asked[] = []
  let group = 0
  for (const [index, one] of said.entries()) {
    if (one.kind !== 'assistant') group += 1
    else
      for (const call of one.parts)
        if (call.type === 'tool-call') asked.push({ index, at: one.at, call, group })
  }
  return asked
}

function resultsIn(said: readonly Said[]): readonly Found[] {
  return said.flatMap((one, index) =>
    one.kind === 'results' ? one.results.map((result) => ({ index, at: one.at, result })) : [],
  )
}

/** The candidate calls of a result, in order: by id where both have one, else by the tool's name. */
function matching(asked: readonly Asked[]): (result: ForeignResult) => readonly Asked[] {
  const byId = Map.groupBy(asked, ({ call }) => call.id)
  const byTool = Map.groupBy(asked, ({ call }) => call.tool)
  const unnamed = Map.groupBy(byId.get(undefined) ?? [], ({ call }) => call.tool)
  return ({ id, tool }) => {
    if (id === undefined) return tool === undefined ? [] : (byTool.get(tool) ?? [])
    return byId.get(id) ?? (tool === undefined ? [] : (unnamed.get(tool) ?? []))
  }
}

function settle(asked: Asked, found: Found, { said, note }: { said: readonly Said[]; note: Note }): void {
  asked.result = found.result
  const isNext =
    found.index > asked.index &&
    said.slice(asked.index + 1, found.index).every(({ kind }) => kind === 'results')
  if (!isNext)
    note(found.at, 'result-moved', `${named(found.result)} was moved to right after the message that asked.`)
}

function duplicate(result: ForeignResult): string {
  return `${named(result)} was left out: that call has a result already.`
}

/** Dropped: as a user message it would pass for the user's words. */
function orphan(result: ForeignResult): string {
  return `${named(result)} was left out: no message asks for that call.`
}

function named({ id, tool }: ForeignResult): string {
  if (id !== undefined) return `The result of the call ${quote(id)}`
  return tool === undefined ? 'A result that names no call' : `A result of the tool ${quote(tool)}`
}
