/**
 * Several processes send thousands of messages at once into one conversation, bad ones among them, and may be killed.
 * Afterwards the journal is compared with every outcome that was told.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Entry, LOCAL_OWNER } from '../../src/protocol/index.ts'
import type { Head, Store } from '../../src/store/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { checkSqlite } from '../../src/store/sqlite/repair/index.ts'
import { programFile } from '../build/programs.ts'
import { floodAgent, type Kind, type Outcome, type Sending, type Sent, USED } from './flood-sender.ts'
import { headProblems, orderProblems } from './verdict.ts'

export interface FloodOptions {
  readonly folder: string
  readonly processes: number
  /** Messages that must be heard, over all processes. */
  readonly messages: number
  /** How many processes are killed and started again, one every `killEveryMs`. */
  readonly kills?: number
  readonly killEveryMs?: number
  /** Nothing was heard for this long: it is stuck. */
  readonly patienceMs: number
  /** How many messages need not be sent again. */
  readonly onProgress?: (settled: number) => void
}

export interface FloodReport {
  readonly counts: Readonly<Record<string, number>>
  /** What is wrong; nothing if all is well. */
  readonly problems: readonly string[]
}

/** How a bad message has to be refused. */
const REFUSED: Readonly<Partial<Record<Kind, string>>> = {
  reused: 'key-reused',
  large: 'too-large',
  'bad-key': 'invalid-option',
  'bad-message': 'invalid-option',
}

const CONTEXT = 'flood'
const LEASE_MS = 3000
const MOST_LARGE = 2
const SENDER = programFile('test/many/flood-sender.ts')

export async function runFlood(options: FloodOptions): Promise<FloodReport> {
  return new Flood(options).run()
}

/** One in ten is sent once, one in twenty is bad, in turns. The large ones cost a second each, so there are few. */
function messagesOf(place: number, good: number): Sent[] {
  const bad: readonly Kind[] = ['reused', 'bad-key', 'bad-message']
  const sent: Sent[] = []
  const add = (kind: Kind, key: string) => sent.push({ kind, key })
  for (let n = 0; n < good; n++) {
    add('good', `good-${place}-${n}`)
    if (n % 10 === 3) add('once', `once-${place}-${n}`)
    const kind = bad[(n / 20) % bad.length]
    if (n % 20 === 0 && kind !== undefined)
      add(kind, kind === 'bad-key' ? `bad-${place}-${n}\u0000` : `bad-${place}-${n}`)
  }
  for (let n = 0; n < MOST_LARGE; n++)
    sent.splice(Math.floor(good / (n + 2)), 0, { kind: 'large', key: `large-${place}-${n}` })
  return sent
}

class Flood {
  readonly #options: FloodOptions
  readonly #path: string
  readonly #senders: { process: ChildProcess; readonly open: Map<string, Sent> }[] = []
  /** The last outcome of each message. */
  readonly #outcomes = new Map<string, Outcome>()
  readonly #problems: string[] = []
  readonly #codes: Record<string, number> = {}
  /** Sent once by a process that was killed before it heard: nobody was told anything. */
  readonly #untold = new Set<string>()
  #total = 0
  #kills = 0
  #heardAt = performance.now()
  #trouble = ''

  constructor(options: FloodOptions) {
    this.#options = options
    this.#path = join(options.folder, 'store.db')
  }

  async run(): Promise<FloodReport> {
    const { processes, messages } = this.#options
    const started = performance.now()
    await this.#firstTurn()
    for (let place = 0; place < processes; place++) {
      const good = Math.floor(messages / processes) + (place < messages % processes ? 1 : 0)
      const open = new Map(messagesOf(place, good).map((sent) => [sent.key, sent]))
      this.#total += open.size
      this.#senders.push({ process: this.#spawn(open), open })
    }
    await Promise.all([this.#killSome(), this.#untilHeard()])
    for (const sender of this.#senders) await end(sender.process)
    const seconds = (performance.now() - started) / 1000
    return this.#judge(seconds)
  }

  async #firstTurn(): Promise<void> {
    const { agent, close } = floodAgent({ path: this.#path, contextId: CONTEXT, leaseMs: LEASE_MS })
    await agent.executeTurn('first', { key: USED }).outcome
    await agent.shutdown()
    await close()
  }

  #spawn(open: Map<string, Sent>): ChildProcess {
    const child = fork(SENDER, [], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    child.stderr?.on('data', (text: Buffer) => {
      this.#trouble = `${this.#trouble}${text.toString()}`.slice(-4000)
    })
    child.on('message', (outcome: Outcome) => this.#hear(open, outcome))
    const sending: Sending = {
      path: this.#path,
      contextId: CONTEXT,
      leaseMs: LEASE_MS,
      sent: [...open.values()],
    }
    child.send(sending)
    return child
  }

  #hear(open: Map<string, Sent>, outcome: Outcome): void {
    const { key, kind, turn, reason, code = reason, stored } = outcome
    this.#heardAt = performance.now()
    this.#outcomes.set(key, outcome)
    this.#codes[`${kind}: ${code}`] = (this.#codes[`${kind}: ${code}`] ?? 0) + 1
    if (kind !== 'good' || turn > 0) open.delete(key)
    if (stored) this.#problems.push(`${key} is stored, and was told ${code}`)
  }

  async #untilHeard(): Promise<void> {
    const { patienceMs, onProgress } = this.#options
    while (this.#open > 0 && performance.now() - this.#heardAt < patienceMs) {
      await sleep(100)
      onProgress?.(this.#total - this.#open)
    }
  }

  get #open(): number {
    return this.#senders.reduce((sum, { open }) => sum + open.size, 0)
  }

  async #killSome(): Promise<void> {
    const { kills = 0, killEveryMs = 1000 } = this.#options
    for (let n = 0; n < kills; n++) {
      await sleep(killEveryMs)
      const sender = this.#senders[n % this.#senders.length]
      if (sender === undefined || this.#open === 0) return
      await end(sender.process)
      this.#kills += 1
      for (const { kind, key } of [...sender.open.values()])
        if (kind === 'once') {
          sender.open.delete(key)
          this.#untold.add(key)
        }
      sender.process = this.#spawn(sender.open)
    }
  }

  async #judge(seconds: number): Promise<FloodReport> {
    const { agent, close } = floodAgent({ path: this.#path, contextId: CONTEXT, leaseMs: LEASE_MS })
    const left = (await this.#head())?.pending ?? 0
    for (let drive = await agent.drive(); drive.state !== 'done'; drive = await agent.drive())
      if (drive.state === 'at') await sleep(100)
    await agent.shutdown()
    await close()
    const store = sqliteStore(this.#path)
    const entries = await allEntries(store)
    const head = await store.head({ ...LOCAL_OWNER, contextId: CONTEXT })
    await store.close()
    const { problems: damage } = await checkSqlite(this.#path)
    const problems = [
      ...this.#problems,
      ...this.#senders.flatMap(({ open }) => [...open.keys()].map((key) => `${key} was never answered`)),
      ...(this.#kills === 0 && left > 0 ? [`${left} messages waited when all had been answered`] : []),
      ...this.#outcomeProblems(entries),
      ...orderProblems(entries),
      ...headProblems(head, entries),
      ...(head?.pending === 0 && head.status === 'idle' ? [] : ['it is neither drained nor idle']),
      ...damage.map((problem) => `the file: ${JSON.stringify(problem)}`),
      ...(this.#trouble === '' ? [] : [`a process complained: ${this.#trouble}`]),
    ]
    const turns = entries.filter(({ type }) => type === 'turn.start').length
    const claims = entries.filter(({ type }) => type === 'claim').length
    const counts = { ...this.#codes, kills: this.#kills, turns, claims, entries: entries.length }
    return { counts: { ...counts, seconds: Math.round(seconds) }, problems }
  }

  async #head(): Promise<Head | undefined> {
    const store = sqliteStore(this.#path)
    const head = await store.head({ ...LOCAL_OWNER, contextId: CONTEXT })
    await store.close()
    return head
  }

  /** Stored if and only if it was told so, and played by the turn that was told. */
  *#outcomeProblems(entries: readonly Entry[]): Generator<string> {
    const ends = new Map(
      entries.flatMap(({ type, turn, data }) => (type === 'turn.end' ? [[turn, data]] : [])),
    )
    const takers = Map.groupBy(
      entries.flatMap(({ takes = [], turn }) => takes.map((seq) => ({ seq, turn }))),
      ({ seq }) => seq,
    )
    const inputs = Map.groupBy(
      entries.filter(({ type }) => type === 'input'),
      ({ key = '' }) => key,
    )
    for (const { key, kind, turn, reason, code } of this.#outcomes.values()) {
      const stored = inputs.get(key) ?? []
      inputs.delete(key)
      const taken = takers.get(stored[0]?.seq ?? 0) ?? []
      if (kind in REFUSED && !(turn === 0 && code === REFUSED[kind])) yield `${key}: told ${code ?? reason}`
      if (kind === 'good' && reason !== 'stop') yield `${key} was told ${code ?? reason} at last`
      if (stored.length !== (turn > 0 ? 1 : 0))
        yield `${key} was told ${reason}, turn ${turn}, and is stored ${stored.length} times`
      if (turn === 0) continue
      if (taken.length !== 1 || taken[0]?.turn !== turn)
        yield `${key} was told turn ${turn}, and taken by ${taken.map((one) => one.turn).join() || 'none'}`
      if (ends.get(turn)?.['outcome'] !== reason) yield `${key} was told ${reason}, unlike the journal`
    }
    for (const key of inputs.keys())
      if (key !== USED && !this.#untold.has(key)) yield `${key} is stored, and nobody was told`
  }
}

async function end(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

async function allEntries(store: Store): Promise<Entry[]> {
  const entries: Entry[] = []
  for (;;) {
    const from = (entries.at(-1)?.seq ?? 0) + 1
    const page = await store.read({ ...LOCAL_OWNER, contextId: CONTEXT }, { from, limit: 10_000 })
    if (page.length === 0) return entries
    entries.push(...page)
  }
}
