/**
 * The driver that ships, in the place of the reference one: the same ports, the same words for how it ended. Its model
 * and its tools are functions, its time is the clock of the exploration, and everything else is the real thing.
 */

import { turnScope } from '../../src/agent/turn-scope.ts'
import type { Timer } from '../../src/base/index.ts'
import { Driver } from '../../src/drive/index.ts'
import type { LanguageModel, ModelStreamPart, PromptMessage } from '../../src/model/index.ts'
import type { Store } from '../../src/store/index.ts'
import { defineTool, type StandardSchema, type Tool } from '../../src/tool/index.ts'
import { defineTurn, playTurn } from '../../src/turn/index.ts'
import { decorate } from './decorate.ts'
import { type DriverOptions, type DriverPorts, replayOf } from './reference-driver.ts'

/** Whoever takes more steps than this goes round in circles. */
const MOST_STEPS = 200

/** Drives until there is nothing to do or somebody else does it. A driver that was passed over comes back by itself. */
export async function driveReal(
  ports: DriverPorts & { readonly timer: Timer },
  options: DriverOptions,
): Promise<'idle' | 'owned'> {
  const died = Promise.withResolvers<never>()
  const asked = new Set<Promise<unknown>>()
  const driver = driverOf({ ...ports, store: counted(ports.store, asked) }, options, died.reject)
  const run = async () => {
    for (let steps = 0; steps < MOST_STEPS; steps++) {
      const { state } = await driver.step()
      if (state !== 'idle' && state !== 'owned') continue
      if (driver.settling !== undefined) {
        await driver.settling
        continue
      }
      await Promise.allSettled(asked)
      return state
    }
    throw new Error(`${options.driver} took ${MOST_STEPS} steps and came to no end`)
  }
  return Promise.race([run(), died.promise])
}

/** A heartbeat may still be on its way when there is nothing left to do. */
function counted(store: Store, asked: Set<Promise<unknown>>): Store {
  return decorate(store, {
    renew: (request) => {
      const asking = store.renew(request)
      asked.add(asking)
      return asking
    },
  })
}

function driverOf(
  ports: DriverPorts & { readonly timer: Timer },
  options: DriverOptions,
  die: (reason: unknown) => void,
): Driver {
  const { store, clock, timer, ids, model, effect } = ports
  const { key, driver, leaseMs, maxClaims, heartbeats = 0 } = options
  const tools = ['pay', 'look'].map((name) => toolOf(name, effect))
  const definition = defineTurn({
    model: modelOf(model, die),
    settings: { timeoutMs: Number.POSITIVE_INFINITY },
    tools,
    maxClaims,
  })
  return new Driver({
    ...{ key, store, clock, timer, ids, driver, leaseMs, definition },
    play: (scope, ledger) => playTurn(turnScope(scope, ledger, { definition, extras: () => ({}) })),
    window: async () => ({ maxMessages: 100 }),
    autoSave: true,
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

/** Whoever thinks a thought that kills has no time to say so. */
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
