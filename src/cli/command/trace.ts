/** `holdfast trace ID`: draws what happened in a turn, and how long it took. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { ContextKey, Store } from 'holdfast'
import { loadSession } from 'holdfast/journal'
import type { TraceEntry } from 'holdfast/observe'
import { readTrace, readTraceTree } from 'holdfast/observe'
import { bold, dim, joinLines, styled } from 'holdfast/terminal'
import { EXIT } from '../exit-code.ts'
import { Refusal, wrongUsage } from '../refusal.ts'
import { counted, cut, oneLine } from '../terminal/text.ts'
import { labelOf, msText, waterfallLines } from '../terminal/waterfall.ts'
import { type CommandContext, columnsOf, showConversation } from './context.ts'

const POLL_MS = 200
const PIPE_COLUMNS = 80

export async function trace(context: CommandContext): Promise<number> {
  const { args, out } = context
  const chosen = turnOption(args.value('turn'))
  return showConversation(context, async ({ store, head: { key } }) => {
    const { turn: newest } = await loadSession(store, key)
    const turn = chosen ?? newest
    if (turn !== 'all' && (turn < 1 || turn > newest))
      throw wrongUsage(`${key.contextId} has no turn ${turn}; its newest is ${newest}.`)
    const of = turn === 'all' ? {} : { turn }
    if (args.has('follow')) await follow(context, store, { key, turn: of.turn ?? newest })
    if (args.has('json') && args.has('follow')) return
    const tree = await readTraceTree(store, key, of)
    if (args.has('json')) return out.json(tree, 2)
    const columns = out.isTTY ? columnsOf(out) : PIPE_COLUMNS
    const title = styled`${bold(key.contextId)} ${dim(turn === 'all' ? counted(newest, 'turn') : `turn ${turn}`)}`
    out.write(styled`${joinLines([title, ...waterfallLines(tree, { columns, now: Date.now() })])}\n`)
  })
}

function turnOption(value: string | undefined): number | 'all' | undefined {
  if (value === undefined || value === 'all') return value
  if (/^[1-9]\d*$/.test(value)) return Number(value)
  throw wrongUsage(`--turn takes a number or all, not ${JSON.stringify(value)}.`)
}

/** Prints what ends in the turn, as it ends, until the turn does or nobody reads any more. Drives nothing. */
async function follow(
  { args, out }: CommandContext,
  store: Store,
  { key, turn }: { readonly key: ContextKey; readonly turn: number },
): Promise<void> {
  let printed = 0
  for (;;) {
    const found = await readTrace(store, key, { turn })
    const hasEnded = found.some(({ type }) => type === 'turn_result')
    // Of a running turn only what has ended: the rest has no place in the order yet.
    const entries = found.filter((entry) => isOver(entry, hasEnded))
    const [first] = entries
    for (const entry of entries.slice(printed))
      if (args.has('json')) out.json(entry)
      else out.write(styled`${followLine(entry, first?.timestamp ?? 0, columnsOf(out))}\n`)
    printed = entries.length
    if (hasEnded || out.isClosed) break
    if (found.length === 0) await checkKept(store, key, turn)
    await sleep(POLL_MS)
  }
  if (!args.has('json')) out.write(styled`\n`)
}

/** Throws if the turn has no entries any more: it would never end. */
async function checkKept(store: Store, key: ContextKey, turn: number): Promise<void> {
  if ((await store.read(key, { turn, limit: 1 })).length > 0) return
  throw new Refusal(
    `Turn ${turn} of ${key.contextId} is gone: it was pruned, or the conversation was erased.`,
    {
      exitCode: EXIT.failed,
      code: 'not-found',
    },
  )
}

function isOver(entry: TraceEntry, hasEnded: boolean): boolean {
  if (!('status' in entry)) return true
  return entry.status !== 'running' && (hasEnded || entry.status !== 'waiting')
}

function followLine(entry: TraceEntry, start: number, columns: number): string {
  const at = `+${msText(Math.max(0, entry.timestamp - start))}`.padStart(9)
  return cut(`${at}  ${oneLine(labelOf(entry))}`, columns)
}
