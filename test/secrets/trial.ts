/**
 * Many generated credentials through careless tools, hooks, sub-agents, graphs, errors and killed processes; then a search
 * for each of them in every byte that was written and everything that was told.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Store } from '../../src/store/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { programFile } from '../build/programs.ts'
import { carelessAgent, carelessRun, type Watched } from './careless.ts'
import { search } from './search.ts'
import { type Generated, generated } from './shapes.ts'

export interface TrialOptions {
  readonly seed: number
  readonly credentials: number
  /** How many conversations each killed process was in. */
  readonly perProcess: number
  readonly onProgress?: (done: number, of: number) => void
}

export interface TrialReport {
  readonly found: readonly string[]
  readonly outcomes: Readonly<Record<string, number>>
  readonly entries: number
  readonly killed: number
  readonly bytes: number
}

export async function runTrial(options: TrialOptions): Promise<TrialReport> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-secrets-'))
  try {
    return await new Trial(options, folder).run()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

class Trial {
  readonly #options: TrialOptions
  readonly #folder: string
  readonly #told: string[] = []
  readonly #outcomes: Record<string, number> = {}
  #done = 0

  constructor(options: TrialOptions, folder: string) {
    this.#options = options
    this.#folder = folder
  }

  async run(): Promise<TrialReport> {
    const { seed, credentials, perProcess } = this.#options
    const all = Array.from({ length: credentials }, (_, at) => generated(seed, at))
    const restore = this.#listenToConsole()
    const store = sqliteStore(join(this.#folder, 'store.db'), { synchronous: 'NORMAL' })
    try {
      let killed = 0
      for (let from = 0; from < all.length; from += perProcess) {
        killed += await this.#kill(from, Math.min(from + perProcess, all.length))
        for (const [at, one] of all.slice(from, from + perProcess).entries())
          await this.#play(store, from + at, one)
      }
      const places = await this.#places()
      await store.close()
      const more = await this.#afterwards()
      const told = Buffer.from(this.#told.join('\n'))
      const found = search(all, new Map([...places, ...more, ['told', told]]))
      const bytes = [...places, ...more].reduce((sum, [, content]) => sum + content.length, 0)
      return { found, outcomes: this.#outcomes, entries: this.#countEntries(), killed, bytes }
    } finally {
      restore()
    }
  }

  /** One process is in the middle of all these turns when it is killed; what it printed is looked at, too. */
  async #kill(from: number, to: number): Promise<number> {
    const child = spawn(
      process.execPath,
      [
        programFile('test/secrets/child.ts'),
        String(this.#options.seed),
        String(from),
        String(to),
        this.#folder,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    )
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes: Buffer) => this.#told.push(bytes.toString('latin1')))
    const signal = await new Promise((resolve) => child.on('close', (_, how) => resolve(how)))
    if (signal !== 'SIGKILL') throw new Error(`The process was to be killed: ${this.#told.at(-1) ?? ''}`)
    return 1
  }

  async #play(store: Store, at: number, { secret, credentials }: Generated): Promise<void> {
    const auth = { credentials }
    const whole = carelessAgent(store, `whole-${at}`, { secret })
    const turn = whole.executeTurn(`go with ${secret}`, { auth, metadata: { trace: secret } })
    await this.#watch('asked', turn)
    const [request] = await whole.requests()
    if (request !== undefined)
      await this.#watch('answered', whole.answer({ [request.requestId]: `yes, ${secret}` }, { auth }))
    this.#told.push(JSON.stringify(await whole.getMessages()))
    await whole.shutdown()
    const taken = carelessAgent(store, `killed-${at}`, { secret })
    await this.#watch('taken up', taken.executeTurn(null, { auth }))
    await taken.shutdown()
    await this.#watch('graph', carelessRun(store, `graph-${at}`, { secret, credentials }))
    this.#done += 1
    this.#options.onProgress?.(this.#done, this.#options.credentials)
  }

  async #watch(what: string, turn: Watched): Promise<void> {
    for await (const event of turn) this.#told.push(JSON.stringify(event))
    const outcome = await turn.outcome
    this.#told.push(JSON.stringify(outcome))
    const name = `${what}: ${outcome.reason}`
    this.#outcomes[name] = (this.#outcomes[name] ?? 0) + 1
  }

  /** All files as they are while the store is open: the database, its log, its index. */
  async #places(): Promise<Map<string, Buffer>> {
    return new Map(readdirSync(this.#folder).map((file) => [file, readFileSync(join(this.#folder, file))]))
  }

  async #afterwards(): Promise<Map<string, Buffer>> {
    const path = join(this.#folder, 'store.db')
    const database = new DatabaseSync(path)
    database.exec(`VACUUM INTO '${join(this.#folder, 'copy.db')}'`)
    database.exec('VACUUM')
    database.close()
    const files = await this.#places()
    return new Map([...files].map(([file, content]) => [`${file} afterwards`, content]))
  }

  #countEntries(): number {
    const database = new DatabaseSync(join(this.#folder, 'store.db'))
    const row = database.prepare('SELECT count(*) AS n FROM entry').get() as { n: number }
    database.close()
    return row.n
  }

  #listenToConsole(): () => void {
    const before = { ...console }
    for (const name of ['log', 'info', 'warn', 'error', 'debug'] as const)
      console[name] = (...said: unknown[]) => void this.#told.push(said.map(String).join(' '))
    return () => Object.assign(console, before)
  }
}
