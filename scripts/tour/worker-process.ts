/** Starts and ends a process of the tour, which never outlives the tour. */
import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Death } from './claims.ts'

const FROM_SOURCE = new URL('../from-source.ts', import.meta.url).href
const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url))
const LOOK_MS = 20

export interface WorkerOptions {
  /** The module with `openWiring`. */
  readonly wiring: URL
  readonly home: string
  readonly job: 'answer' | 'resume'
  /** Ends the process, too. */
  readonly signal: AbortSignal
}

export class WorkerProcess {
  readonly pid: number
  readonly ended: Promise<Death>
  readonly #child: ChildProcess
  #stderr = ''

  constructor({ wiring, home, job, signal }: WorkerOptions) {
    this.#child = spawn(process.execPath, ['--import', FROM_SOURCE, WORKER, wiring.href, home, job], {
      stdio: ['pipe', 'ignore', 'pipe'],
    })
    this.pid = this.#child.pid ?? 0
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text
    })
    const kill = () => this.kill()
    signal.addEventListener('abort', kill, { once: true })
    this.ended = new Promise((resolve, reject) => {
      this.#child.once('error', reject)
      this.#child.once('close', (_, killedBy) => {
        signal.removeEventListener('abort', kill)
        resolve({ pid: this.pid, signal: killedBy })
      })
    })
  }

  /** Waits for a value; throws if the process ends first. */
  async until(isThere: () => boolean): Promise<void> {
    while (!isThere()) {
      if (this.isOver) throw new Error(`Process ${this.pid} ended early. ${this.#stderr}`)
      await wait(LOOK_MS)
    }
  }

  get isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** kill -9 */
  kill(): void {
    this.#child.kill('SIGKILL')
  }
}
