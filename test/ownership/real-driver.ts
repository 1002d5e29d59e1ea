/**
 * The driver that ships behind the ports of the reference driver. Its model and its tools are functions, its time is
 * the clock of the exploration; everything else is real.
 */

import { turnScopes } from '../../src/agent/turn-scope.ts'
import type { Timer } from '../../src/base/index.ts'
import { Driver } from '../../src/drive/index.ts'
import type { Transitions } from '../../src/drive/state.ts'
import type { LanguageModel, ModelStreamPart, PromptMessage } from '../../src/model/index.ts'
import { HoldfastError } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { defineTool, type StandardSchema, type Tool } from '../../src/tool/index.ts'
import { defineTurn, turnLoop } from '../../src/turn/index.ts'
import { NO_PENDING_WORK } from '../drive/no-pending-work.ts'
import { decorate } from './decorate.ts'
import { type DriverOptions, type DriverPorts, replayOf } from './reference-driver.ts'
import { type StateReport, StateRules } from './state-rules.ts'

/** A driver that takes more steps than this loops. */
const MOST_STEPS = 50

/** A lease renewed this often while no time passes is a loop, and so is a write that is fenced this often. */
const MOST_TIMES = 5

/** The ports of the reference driver, and those of a driver with a table of states. */
export interface RealPorts extends DriverPorts {
  readonly timer: Timer
  readonly report: StateReport
  /** Replaces the table that ships. */
  readonly table?: Transitions | undefined
  /** False: entries that no effect depends on are buffered, and saved when nothing is left to do. */
  readonly autoSave: boolean
  /** Receives the actions of a second caller in the same process. */
  readonly meet: (caller: Caller) => void
}

export interface Caller {
  readonly stop: (how: 'pause' | 'release') => void
  /** Appends a note, in the turn or between turns. */
  readonly note: () => void
}

/**
 * Drives until there is nothing to do or another driver owns it. A driver that lost the turn starts again by itself.
 */
export async function driveReal(ports: RealPorts, options: DriverOptions): Promise<string> {
  const died = Promise.withResolvers<never>()
  const asked = new Set<Promise<unknown>>()
  const rules = new StateRules(options.driver, ports.report)
  const store = rules.store(counted(ports, options, asked))
  const driver = driverOf({ ...ports, store, rules, die: died.reject }, options)
  ports.meet({
    stop: (how) => driver.stop(how),
    note: () => asked.add(record(driver, ports.report)),
  })
  const run = async () => {
    const ended = await stepToEnd(driver, ports.report)
    // A heartbeat or a note may still be under way.
    await Promise.allSettled(asked)
    rules.end()
    return ended
  }
  return Promise.race([run(), died.promise])
}

async function stepToEnd(driver: Driver, { violate }: StateReport): Promise<string> {
  for (let steps = 0; steps < MOST_STEPS; steps++) {
    const state = await stepOf(driver)
    if (state === 'again') continue
    if (driver.draining !== undefined) {
      // A conversation reads the journal of the new owner meanwhile, to follow it.
      await driver.ownership.read()
      await driver.draining
      continue
    }
    driver.stop(undefined)
    const isSaved = await save(driver)
    if (state === 'paused') await driver.handOver()
    if (isSaved) return state
  }
  violate('circles', `the driver took ${MOST_STEPS} steps and came to no end`)
  return 'in circles'
}

/** A turn that broke because the store refused an append is continued. */
async function stepOf(driver: Driver): Promise<string> {
  try {
    const { state } = await driver.step()
    return state
  } catch (error) {
    if (!HoldfastError.is(error, 'store-full')) throw error
    return 'again'
  }
}

/** False if buffered entries could not be saved: another driver has claimed, or the store was full. */
async function save(driver: Driver): Promise<boolean> {
  try {
    await driver.flush()
    return true
  } catch (error) {
    if (!HoldfastError.is(error, 'fenced') && !HoldfastError.is(error, 'store-full')) throw error
    return false
  }
}

async function record(driver: Driver, { violate }: StateReport): Promise<void> {
  try {
    await driver.record([{ type: 'note', data: { text: 'by the way', from: 'caller' } }])
  } catch (error) {
    // Another process owns the conversation.
    if (!HoldfastError.is(error, 'owned') && !HoldfastError.is(error, 'fenced'))
      violate('uncaught', `a note failed: ${String(error)}`)
  }
}

/** Counts the writes of a driver that may loop without a step. Renewals under way are `asked`. */
function counted(
  { store, clock, report }: RealPorts,
  { driver }: DriverOptions,
  asked: Set<Promise<unknown>>,
): Store {
  const times = new Map<string, number>()
  const isCircle = (what: string): boolean => {
    const count = (times.get(what) ?? 0) + 1
    times.set(what, count)
    if (count > MOST_TIMES) report.violate('circles', `${driver}, again and again: ${what}`)
    return count > MOST_TIMES
  }
  return decorate(store, {
    append: async (request) => {
      try {
        return await store.append(request)
      } catch (error) {
        if (HoldfastError.is(error, 'fenced') && isCircle(`epoch ${request.epoch} is fenced`))
          return new Promise(() => {})
        throw error
      }
    },
    renew: (request) => {
      if (isCircle(`renew epoch ${request.epoch} at ${clock.elapsed()}`)) return new Promise(() => {})
      const asking = store.renew(request)
      asked.add(asking)
      return asking
    },
  })
}

interface Parts extends RealPorts {
  readonly rules: StateRules
  readonly die: (reason: unknown) => void
}

function driverOf(ports: Parts, options: DriverOptions): Driver {
  const { store, clock, timer, ids, model, rules, die, autoSave } = ports
  const { key, driver, leaseMs, maxClaims, heartbeats = 0 } = options
  const effect: DriverPorts['effect'] = (call) => rules.effect(() => ports.effect(call))
  const tools = ['pay', 'look'].map((name) => toolOf(name, effect))
  const definition = defineTurn({
    model: modelOf(model, die),
    settings: { timeoutMs: Number.POSITIVE_INFINITY },
    tools,
    maxClaims,
  })
  const scopeOf = turnScopes({ definition, extras: () => ({}) })
  return new Driver({
    ...{ key, store, clock, timer, ids, driver, leaseMs, definition },
    transitions: rules.table(ports.table),
    run: (scope, journal) => rules.loop(turnLoop(scopeOf(scope, journal))),
    window: async () => ({ maxMessages: 100 }),
    autoSave,
    pending: NO_PENDING_WORK,
    heartbeatMs: heartbeats > 0 ? leaseMs / 2 : Number.POSITIVE_INFINITY,
    onEntry: () => {},
    emit: () => {},
  })
}

const ANYTHING: StandardSchema = {
  '~standard': { version: 1, vendor: 'pretend', validate: (value) => ({ value }) },
}

function toolOf(name: string, effect: DriverPorts['effect']): Tool {
  return defineTool({
    name,
    description: `does ${name}`,
    input: ANYTHING,
    parameters: { type: 'object' },
    replay: replayOf(name),
    run: (_, { callId }) => effect({ callId, tool: name, state: 'started', args: {} }),
  })
}

/** A model call that kills its driver never answers. */
function modelOf(think: DriverPorts['model'], die: (reason: unknown) => void): LanguageModel {
  return {
    specificationVersion: 'v3',
    provider: 'pretend',
    modelId: 'model',
    doStream: async ({ prompt }) => {
      const asked = await think(whereIn(prompt)).catch((reason: unknown) => {
        die(reason)
        return new Promise<never>(() => {})
      })
      return { stream: streamOf(asked) }
    },
  }
}

/** A prompt of one message is the beginning of the first turn. Nothing else matters here. */
function whereIn(prompt: readonly PromptMessage[]): { turn: number; iteration: number } {
  const users = prompt.filter(({ role }) => role === 'user').length
  return { turn: users, iteration: prompt.length - users + 1 }
}

/** All parts are there at once: a real stream would only add promises. */
function streamOf(tools: readonly string[]): ReadableStream<ModelStreamPart> {
  const calls = tools.map((toolName, index): ModelStreamPart => {
    return { type: 'tool-call', toolCallId: `p${index}`, toolName, input: '{}' }
  })
  const unified = tools.length > 0 ? 'tool-calls' : 'stop'
  const usage = {
    inputTokens: { total: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1 },
  }
  const parts = [...calls, { type: 'finish', finishReason: { unified, raw: unified }, usage }].values()
  const read = async () => parts.next()
  return { getReader: () => ({ read, cancel: async () => {} }) } as unknown as ReadableStream<ModelStreamPart>
}
