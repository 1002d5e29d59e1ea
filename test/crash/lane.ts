/** One file with conversations in it, and the processes that play them, one after the other as they are killed. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../src/store/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { checkSqlite } from '../../src/store/sqlite/repair/index.ts'
import { isBuilt, programFile } from '../build/programs.ts'
import { PATIENCE_MS } from '../patience.ts'
import type { Job, Report } from './child.ts'
import { ControlledProcess } from './controlled-process.ts'
import { write } from './record.ts'
import type { Counts } from './stage.ts'

const CHILD = 'child.mjs'

/** The folder that all of it is in, with the program of the processes in one file: most of a start is to load many. */
export class Nest {
  readonly #folder: string
  readonly #program: string
  #lanes = 0

  private constructor(folder: string, program: string) {
    this.#folder = folder
    this.#program = program
  }

  static async build(): Promise<Nest> {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-crash-'))
    if (isBuilt()) return new Nest(folder, programFile('test/crash/child.ts'))
    const { build } = await import('vite')
    await build({
      configFile: false,
      logLevel: 'error',
      ssr: { noExternal: true },
      build: {
        ssr: join(import.meta.dirname, 'child.ts'),
        outDir: folder,
        emptyOutDir: false,
        rolldownOptions: { output: { entryFileNames: CHILD } },
      },
    })
    return new Nest(folder, join(folder, CHILD))
  }

  lane(): Lane {
    this.#lanes += 1
    return new Lane(join(this.#folder, String(this.#lanes)), this.#program)
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

export class Lane {
  readonly path: string
  /** The folder for what happens outside of the store. */
  readonly record: string
  readonly #program: string
  #child: Promise<ControlledProcess> | undefined

  constructor(name: string, program: string) {
    this.path = `${name}.db`
    this.record = name
    mkdirSync(name)
    this.#program = program
  }

  /** Plays one conversation until it ends, or until the process is killed at the point that the job says. */
  async play(job: Job): Promise<Counts | 'killed' | 'broke'> {
    const child = await this.child()
    child.send([job])
    const said = await Promise.race([child.hear(), late(PATIENCE_MS)])
    if (said === LATE) return this.#giveUp(job)
    if (said !== undefined) return endOf(said as Report)
    await this.#checkKilled(child)
    // While somebody looks at what is left, the next one can load.
    this.#child = this.#start()
    return 'killed'
  }

  /** The process that plays now; a new one if the last was killed. */
  child(): Promise<ControlledProcess> {
    this.#child ??= this.#start()
    return this.#child
  }

  /** Kills the process from outside, whatever it does. */
  async kill(): Promise<void> {
    const child = await this.child()
    await child.kill()
    await this.#checkKilled(child)
    this.#child = undefined
  }

  /** The file as somebody sees it who changes nothing. */
  async look<T>(at: (store: Store) => Promise<T>): Promise<T> {
    const store = sqliteStore(this.path, { readOnly: true })
    try {
      return await at(store)
    } finally {
      await store.close()
    }
  }

  /** Ends the process and says what is wrong with the file. */
  async close(): Promise<readonly string[]> {
    const child = await this.#child
    this.#child = undefined
    child?.send([])
    await child?.ended
    const { problems } = await checkSqlite(this.path)
    return problems.map((problem) => `the file is damaged: ${JSON.stringify(problem)}`)
  }

  async #start(): Promise<ControlledProcess> {
    const child = new ControlledProcess(this.#program, {
      args: [this.path, this.record],
      env: { NODE_COMPILE_CACHE: `${this.#program}.compiled` },
      execArgv: ['--no-warnings'],
    })
    const said = (await child.hear()) as Report | undefined
    if (said?.what !== 'ready') throw new Error(`A process did not start: ${(await child.ended).stderr}`)
    return child
  }

  async #giveUp({ actor, kill }: Job): Promise<'broke'> {
    const why = `it did not come to its end in ${PATIENCE_MS / 1000} s, to be killed at ${JSON.stringify(kill)}`
    write({ folder: this.record, actor }, { what: 'broke', why })
    await this.kill()
    return 'broke'
  }

  async #checkKilled(child: ControlledProcess): Promise<void> {
    const { signal, code, stderr } = await child.ended
    if (signal !== 'SIGKILL') throw new Error(`A process ended by itself with ${code ?? signal}: ${stderr}`)
  }
}

function endOf(report: Report): Counts | 'broke' {
  if (report.what === 'ended') return report.counts
  if (report.what === 'broke') return 'broke'
  throw new Error(`Heard ${report.what} instead of an end.`)
}

const LATE = Symbol('late')

function late(ms: number): Promise<typeof LATE> {
  return sleep(ms, LATE, { ref: false })
}
