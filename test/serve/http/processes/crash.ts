/**
 * A client sends, streams, answers an approval and cancels, while its server is killed at a point of the conversation and
 * started again. The client reconnects by itself. Afterwards the events that it saw, the journal and the effects are
 * compared.
 */
import { join } from 'node:path'
import { type ConversationClient, createClient, type TurnResult } from '../../../../src/client/index.ts'
import type { Entry } from '../../../../src/protocol/index.ts'
import { checkSqlite } from '../../../../src/store/sqlite/repair/index.ts'
import { headProblem, legalProblems, turnProblems } from '../../../recovery/checks.ts'
import { effectCounts, entryProblems, localKey, storedEntries, withStore } from './checks.ts'
import { EntryReader } from './entry-reader.ts'
import { CuttingProxy, ServerProcess } from './fleet.ts'
import type { KillPoint, PointCounts } from './kill-point.ts'

export interface CrashCase {
  readonly point: KillPoint
  /** False if the conversation never came to the point. */
  readonly isKilled: boolean
  readonly entries: number
  readonly problems: readonly string[]
}

/** One SQLite file, one server on it at a time, and one address that leads to the server. */
export class CrashRun {
  readonly #folder: string
  readonly #program: string
  readonly #proxy: CuttingProxy
  /** Undefined while it is away. */
  #server: ServerProcess | undefined
  #cases = 0

  private constructor({ folder, program, proxy }: { folder: string; program: string; proxy: CuttingProxy }) {
    this.#folder = folder
    this.#program = program
    this.#proxy = proxy
  }

  /** `folder`: for the file, the effects and nothing else. `program`: the built server. */
  static async start({ folder, program }: { folder: string; program: string }): Promise<CrashRun> {
    const proxy = await CuttingProxy.start({ target: () => run.#server?.port, bytes: () => undefined })
    const run = new CrashRun({ folder, program, proxy })
    run.#server = await run.#start()
    return run
  }

  /** Runs the conversation without a kill. */
  async count(): Promise<PointCounts> {
    const { counts, problems } = await this.#run(undefined)
    if (problems.length > 0 || counts === undefined) throw new Error(problems.join('\n'))
    return counts
  }

  async killAt(point: KillPoint): Promise<CrashCase> {
    const { counts, ...rest } = await this.#run(point)
    return { ...rest, point, isKilled: counts === undefined }
  }

  /** Ends the server, and returns the damages of the file. */
  async close(): Promise<readonly string[]> {
    this.#proxy.close()
    const server = this.#server
    this.#server = undefined
    await server?.kill()
    const { problems } = await checkSqlite(join(this.#folder, 'store.db'))
    return problems.map((problem) => `the file is damaged: ${JSON.stringify(problem)}`)
  }

  async #run(point: KillPoint | undefined) {
    this.#cases += 1
    const name = String(this.#cases)
    const contextId = `a:${name}`
    const armed = this.#server as ServerProcess
    await armed.command({ do: 'arm', contextId, ...(point === undefined ? {} : { point }) })
    const restarted = armed.ended.then((signal) => this.#restart(armed, signal))
    const conversation = createClient({ url: this.#proxy.url, retryForMs: 300_000 }).conversation(contextId)
    const seen = await Promise.race([converse(conversation, name), failureOf(restarted)])
    const counts = armed.isRunning ? await armed.command({ do: 'counts' }) : undefined
    const { stored, problems } = await this.#judge(contextId, seen)
    return {
      counts,
      entries: stored.length,
      problems: [...problems, ...this.#effectProblems(name, stored)].map((each) => `${contextId}: ${each}`),
    }
  }

  #start(): Promise<ServerProcess> {
    return ServerProcess.start({ folder: this.#folder, program: this.#program })
  }

  async #restart(dead: ServerProcess, signal: string | undefined): Promise<void> {
    if (this.#server !== dead) return
    this.#server = undefined
    if (signal !== 'SIGKILL') throw new Error(`A server has ended by itself: ${String(signal)}`)
    this.#server = await this.#start()
  }

  #judge(contextId: string, seen: readonly Entry[]) {
    return withStore(this.#folder, async (store) => {
      const stored = await storedEntries(store, contextId)
      const head = await headProblem(store, localKey(contextId))
      return {
        stored,
        problems: [
          ...entryProblems(seen, stored),
          ...turnProblems(stored),
          ...legalProblems(stored),
          ...(head === undefined ? [] : [head]),
        ],
      }
    })
  }

  /** An effect that can be looked up is done once; another at most once, and not at all only if its result is `unknown`. */
  #effectProblems(name: string, stored: readonly Entry[]): string[] {
    const counts = effectCounts(this.#folder)
    const isUnknown = stored.some(
      ({ type, data }) => type === 'tool.end' && (data as { status?: string }).status === 'unknown',
    )
    return Object.entries(effectsOf(name)).flatMap(([kind, effect]) => {
      const times = counts.get(effect) ?? 0
      const isFine = times === 1 || (times === 0 && kind === 'bought' && isUnknown)
      return isFine ? [] : [`${effect} was done ${times} times`]
    })
  }
}

function effectsOf(name: string) {
  return { first: `act-${name}`, bought: `buy-${name}`, held: `hold-${name}`, last: `act-${name}-2` }
}

/** Never resolves. */
async function failureOf(restarted: Promise<void>): Promise<never> {
  await restarted
  return new Promise(() => {})
}

/** Sends, streams, answers, cancels, and returns the entries of the stream up to the end of the last turn. */
async function converse(conversation: ConversationClient, name: string): Promise<readonly Entry[]> {
  const { first, bought, held, last: final } = effectsOf(name)
  const message = (effect: string) => ({ message: `Please do ${effect}`, key: effect })
  await conversation.send(message(first))
  const reader = new EntryReader(conversation)
  try {
    await reader.reached(1)
    const asked = await conversation.ask(message(bought))
    const answered = await conversation.answer(approval(asked))
    expectCompleted(answered)
    await conversation.send(message(held))
    await reader.until((entry) => entry.type === 'tool.start' && entry.turn > answered.turn)
    await conversation.cancel('enough')
    await reader.reached(answered.turn + 1)
    const last = await conversation.ask(message(final))
    expectCompleted(last)
    await reader.reached(last.turn)
    return reader.seen
  } finally {
    await reader.stop()
  }
}

function approval({ status, requests }: TurnResult): Record<string, boolean> {
  const [request] = requests
  if (status !== 'input-required' || request === undefined)
    throw new Error(`No approval is open: ${status} ${JSON.stringify(requests)}`)
  return { [request.requestId]: true }
}

function expectCompleted({ status, error }: TurnResult): void {
  if (status !== 'completed') throw new Error(`A turn is ${status}: ${JSON.stringify(error)}`)
}
