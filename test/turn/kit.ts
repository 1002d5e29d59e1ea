/** Shared by the tests of turns: an agent with manual time, its tools, and a turn as short lines. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/agent.ts'
import type { AgentConfig } from '../../src/agent/config.ts'
import type { Turn } from '../../src/agent/index.ts'
import { transcript } from '../../src/journal/index.ts'
import {
  type ContextKey,
  type DeltaEvent,
  type Entry,
  type EntryData,
  type EntryEvent,
  type EntryType,
  isDelta,
  type Json,
  LOCAL_OWNER,
  type Message,
  type SystemMessage,
  type TurnEvent,
} from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { type SqliteStoreOptions, sqliteStore } from '../../src/store/sqlite/index.ts'
import { CountingIds } from '../../src/testing/counting-ids.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { type ScriptedFunction, ScriptedModel, type ScriptedStep } from '../../src/testing/scripted-model.ts'
import { ask, defineTool, type Tool, type ToolContext, type ToolDefinition } from '../../src/tool/index.ts'
import { PATIENCE_MS } from '../patience.ts'

export const KEY: ContextKey = { ...LOCAL_OWNER, contextId: 'talk' }

export interface Bench {
  readonly agent: Agent
  readonly model: ScriptedModel
  readonly store: Store
  readonly clock: ManualClock
  readonly ids: CountingIds
  /** Another agent on the same conversation, or on the same file after it was closed and opened again. */
  readonly another: (config?: Partial<AgentConfig>) => Agent
}

export interface BenchOptions extends Partial<AgentConfig> {
  readonly script?: readonly ScriptedStep[] | ScriptedFunction
  /** Real time instead of a manual clock. */
  readonly realTime?: boolean
}

const closing: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** Everything an agent needs, with time and ids that the test controls. */
export function bench({ script = [], realTime, ...config }: BenchOptions = {}): Bench {
  const clock = new ManualClock(1000)
  const ids = new CountingIds()
  const model = new ScriptedModel(script, { timer: clock })
  const time = realTime ? {} : { clock, timer: clock }
  const store = config.store ?? memoryStore(realTime ? {} : { clock })
  const another = (different: Partial<AgentConfig> = {}) =>
    new Agent({ contextId: 'talk', model, ids, store, ...time, ...config, ...different })
  return { agent: another(), model, store, clock, ids, another }
}

/** A path for a SQLite file, removed after the test. */
export function sqlitePath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-turn-'))
  closing.push(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'store.db')
}

export function openSqlite(path: string = sqlitePath(), options: SqliteStoreOptions = {}): Store {
  const store = sqliteStore(path, options)
  closing.push(() => store.close())
  return store
}

/** For `describe.each`: the same sequences on every store. */
export const STORES: readonly (readonly [string, () => Store])[] = [
  ['memory', () => memoryStore({ clock: new ManualClock(1000) })],
  ['sqlite', () => openSqlite(sqlitePath(), { clock: new ManualClock(1000) })],
]

/** The same for tests of many turns: no turn waits for the disk. */
export const QUICK_STORES: readonly (readonly [string, () => Store])[] = [
  ['memory', () => memoryStore()],
  ['sqlite', () => openSqlite(sqlitePath(), { synchronous: 'NORMAL' })],
]

/** A tool that takes `{ n }` and returns `run` of it; `ran`: the calls that it got. */
export interface Probe extends Tool {
  readonly ran: string[]
}

type Run = (input: { n?: number | undefined }, context: ToolContext) => unknown
type Different = Partial<Omit<ToolDefinition<Input, unknown>, 'name' | 'run'>>

type Input = z.ZodObject<{ n: z.ZodOptional<z.ZodNumber> }>

const INPUT: Input = z.object({ n: z.number().optional() })

export function probe(name: string, run: Run = ({ n }) => ({ n: n ?? 0 }), different: Different = {}): Probe {
  const ran: string[] = []
  const tool = defineTool({
    name,
    description: `does ${name}`,
    input: INPUT,
    ...different,
    run: (input, context) => {
      ran.push(context.callId)
      return run(input, context)
    },
  })
  return { ...tool, ran }
}

/** Asks these questions, one after the other or together, and returns the answers. */
export function asking(name: string, ...rounds: Parameters<typeof ask>[0][]): Probe {
  return probe(name, (_, { answers }) => {
    const next = rounds.find((round) =>
      [round].flat().some((one) => answers[(one as { name?: string }).name ?? 'answer'] === undefined),
    )
    return next === undefined ? { told: answers } : ask(next)
  })
}

export function calls(...tools: (string | readonly [string, Record<string, Json> | string])[]): ScriptedStep {
  return {
    calls: tools.map((tool) => (typeof tool === 'string' ? { tool } : { tool: tool[0], args: tool[1] })),
  }
}

/** A promise to be settled by the test. */
export function gate<T = void>(): PromiseWithResolvers<T> {
  return Promise.withResolvers<T>()
}

/** Waits until it holds; a test that waits for ever fails with its own message. */
export async function until(what: string, holds: () => unknown): Promise<void> {
  const started = performance.now()
  while (performance.now() - started < PATIENCE_MS) {
    if (await holds()) return
    await new Promise((resolve) => setImmediate(resolve))
  }
  throw new Error(`It never came to pass: ${what}`)
}

/** Runs everything that needs no time. */
export async function quiet(): Promise<void> {
  for (let rounds = 0; rounds < 50; rounds++) await new Promise((resolve) => setImmediate(resolve))
}

/** All events of a turn as lines, consecutive deltas as one. Checks the invariants of every turn, too. */
export async function lines(turn: Turn): Promise<string[]> {
  const shown: string[] = []
  const events: TurnEvent[] = []
  for await (const event of merged(turn)) {
    shown.push(line(event))
    events.push(event)
  }
  const outcome = await turn.outcome
  const ends = events.filter(({ type }) => type === 'turn.end' || type === 'turn.refused')
  expect(ends).toHaveLength(1)
  const [end] = ends as [TurnEvent]
  expect(outcome.reason).toBe(end.type === 'turn.end' ? end.data.outcome : 'failed')
  return shown
}

/** Without deltas: their number depends on the speed of the reader. */
export async function entryLines(turn: Turn): Promise<string[]> {
  return (await lines(turn)).filter((text) => !text.startsWith('- '))
}

async function* merged(events: AsyncIterable<TurnEvent>): AsyncGenerator<TurnEvent> {
  let held: TurnEvent | undefined
  for await (const event of events) {
    const joined = held === undefined ? undefined : joinedDelta(held, event)
    if (held !== undefined && joined === undefined) yield held
    held = joined ?? event
  }
  if (held !== undefined) yield held
}

function joinedDelta(a: TurnEvent, b: TurnEvent): TurnEvent | undefined {
  if (a.type !== b.type || !('text' in a.data) || !('text' in b.data) || !isDelta(b)) return undefined
  if (a.type === 'call.delta' && b.type === 'call.delta' && a.data.callId !== b.data.callId) return undefined
  return { ...b, data: { ...b.data, text: a.data.text + b.data.text } } as TurnEvent
}

/** `-` for an event that is never stored, `~` for one that is not stored yet, else its position. */
export function line(event: TurnEvent): string {
  if (isDelta(event)) return `- ${event.type} ${deltaWords(event)}`
  const words = [event.seq ?? '~', event.type, ...wordsOf(event)]
  if (event.takes !== undefined) words.push('takes', event.takes.join(','))
  return words.filter((word) => word !== '').join(' ')
}

function entryLine(entry: Entry): string {
  return line(entry as unknown as EntryEvent)
}

/** The durable entries as lines. */
export async function journal(store: Store, key: ContextKey = KEY): Promise<string[]> {
  return (await store.read(key)).map(entryLine)
}

function deltaWords({ type, data }: DeltaEvent): string {
  if (type === 'tool.progress') return `${data.callId} ${JSON.stringify(data.progress)}`
  if (type === 'node.progress') return `${data.task} ${JSON.stringify(data.progress)}`
  if (type === 'turn.refused') return data.code
  return JSON.stringify(data.text)
}

function wordsOf({ type, data }: EntryEvent): Words {
  const words = WORDS[type] as ((data: EntryData[EntryType]) => Words) | undefined
  return words?.(data) ?? []
}

type Words = readonly (string | number)[]

const settled = ({ callId, status }: EntryData['tool.late']): Words => [callId, status]

const WORDS: { readonly [T in EntryType]?: (data: EntryData[T]) => Words } = {
  input: ({ message, steer }) => [JSON.stringify(message), steer ? 'steer' : ''],
  answer: ({ requestId, value }) => [requestId, JSON.stringify(value)],
  cancel: ({ turn, reason = '' }) => [turn, reason],
  'late-result': settled,
  claim: ({ epoch }) => [epoch],
  release: ({ reason }) => [reason],
  'model.start': (data) => [data.iteration, data.model === 'scripted/model' ? '' : data.model, attempt(data)],
  'model.end': (data) => replyWords(data),
  'tool.start': ({ callId, tool }) => [callId, tool],
  'tool.end': settled,
  'tool.late': settled,
  'request.start': ({ requestId, kind }) => [requestId, kind],
  'request.end': ({ requestId, how, value }) => [
    requestId,
    how,
    value === undefined ? '' : JSON.stringify(value),
  ],
  'turn.end': ({ outcome, limit = '' }) => [outcome, limit],
  take: ({ as }) => [as],
  note: ({ text, from }) => [from, JSON.stringify(text)],
  phase: ({ name, callId = '', changes }) => [
    name,
    callId,
    changes === undefined ? '' : Object.keys(changes).join(','),
  ],
  warning: ({ code }) => [code],
  artifact: ({ artifactId, op }) => [artifactId, op],
  compact: ({ upTo, kept }) => [upTo, 'kept', kept],
}

function attempt({ attempt: number }: EntryData['model.start']): string {
  return number === undefined ? '' : `attempt ${number}`
}

function replyWords({ content, finish, error }: EntryData['model.end']): string[] {
  const parts = content.map((part) =>
    part.type === 'tool-call' ? `${part.callId}:${part.tool}` : JSON.stringify(part.text),
  )
  if (error !== undefined) return [...parts, finish, error['kind'] as string, error['next'] as string]
  return finish === 'stop' || finish === 'tool-calls' ? parts : [...parts, finish]
}

/** The whole conversation as messages, in short lines. Every call must be answered right after it (R9). */
export async function said(store: Store, key: ContextKey = KEY): Promise<string[]> {
  const messages = transcript(await store.read(key))
  expectLegal(messages)
  return messages.map(messageLine)
}

export function messageLine(message: Message | SystemMessage): string {
  if (message.role === 'system') return `system ${JSON.stringify(message.content)}`
  if (message.role === 'user') return `user ${JSON.stringify(message.content)}`
  if (message.role === 'tool')
    return `tool ${message.content.map(({ callId, status }) => `${callId}:${status}`).join(' ')}`
  return ['assistant', ...replyWords({ content: message.content, finish: 'stop' })].join(' ')
}

export function expectLegal(messages: readonly Message[]): void {
  messages.forEach((message, index) => {
    if (message.role === 'tool') expect(messages[index - 1]?.role).toBe('assistant')
    if (message.role !== 'assistant') return
    const asked = message.content.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : []))
    if (asked.length === 0) return
    const next = messages[index + 1]
    expect(next?.role === 'tool' ? next.content.map(({ callId }) => callId) : []).toEqual(asked)
  })
}

/** The prompt of one model call, in short. */
export function promptLines(model: ScriptedModel, call: number): string[] {
  return (model.calls[call]?.prompt ?? []).map(({ role, content }) => {
    if (typeof content === 'string') return `${role} ${JSON.stringify(content)}`
    return `${role} ${content
      .map((part) => {
        const { type, text, toolName } = part as { type: string; text?: string; toolName?: string }
        return type === 'text' ? JSON.stringify(text) : `${type}:${toolName ?? ''}`
      })
      .join(' ')}`
  })
}
