/**
 * A process that a test has in its hands: it is started, spoken to, heard, frozen, thawed and killed. For agents that
 * must survive the end of their process, or wake up after others have taken over.
 */
import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export interface ControlledProcessOptions {
  readonly args?: readonly string[]
  /** Beside those of this process. */
  readonly env?: Readonly<Record<string, string>>
  /** Options for Node itself; those of this process if not given. */
  readonly execArgv?: readonly string[]
}

/** How a process ended: with a code, or by a signal. */
export interface ProcessEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** What it complained about, on its standard error. */
  readonly stderr: string
}

/**
 * Runs a module of Node in a process of its own. They talk in messages of JSON: `process.send(…)` and
 * `process.on('message', …)` there, `hear` and `send` here. It is not ended by itself: call `kill` when the test is over.
 *
 * @example
 * const child = new ControlledProcess(new URL('./agent-in-a-process.ts', import.meta.url), { args: [path] })
 * await child.hear() // it says that it is in the middle of something
 * await freeze(child.pid) // its lease runs out, another one takes over
 * await thaw(child.pid) // and it must notice
 * await child.kill()
 */
export class ControlledProcess {
  /** Resolves when it is gone and everything that it said has arrived. Never rejects. */
  readonly ended: Promise<ProcessEnd>
  readonly #process: ChildProcess
  readonly #messages: unknown[] = []
  #stderr = ''
  #gone = false
  #wake = Promise.withResolvers<void>()

  constructor(module: URL | string, options: ControlledProcessOptions = {}) {
    const { args = [], env = {}, execArgv = process.execArgv } = options
    this.#process = fork(module, [...args], {
      env: { ...process.env, ...env },
      execArgv: [...execArgv],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#process.stderr?.on('data', (text: Buffer) => {
      this.#stderr += text.toString()
    })
    this.#process.on('message', (message) => {
      this.#messages.push(message)
      this.#ring()
    })
    // Whoever waits learns it from the end of the process.
    this.#process.on('error', () => {})
    this.ended = this.#end()
  }

  /** 0 if it could not be started. */
  get pid(): number {
    return this.#process.pid ?? 0
  }

  get isGone(): boolean {
    return this.#gone
  }

  /** What was sent to a process that is gone is lost. */
  send(message: object | string | number | boolean): void {
    if (this.#process.connected) this.#process.send(message, () => {})
  }

  /** The next thing that it says; undefined when it is gone and has said nothing more. */
  async hear(): Promise<unknown> {
    while (this.#messages.length === 0 && !this.#gone) await this.#wake.promise
    return this.#messages.shift()
  }

  /** Ends it with SIGKILL, frozen or not, and resolves when it is gone. */
  async kill(): Promise<ProcessEnd> {
    this.#process.kill('SIGKILL')
    return this.ended
  }

  async #end(): Promise<ProcessEnd> {
    const end = (await once(this.#process, 'close').catch(() => [null, null])) as [
      ProcessEnd['code'],
      ProcessEnd['signal'],
    ]
    this.#gone = true
    this.#ring()
    return { code: end[0], signal: end[1], stderr: this.#stderr }
  }

  #ring(): void {
    this.#wake.resolve()
    this.#wake = Promise.withResolvers<void>()
  }
}

/**
 * Stops a process in the middle of whatever it does (SIGSTOP), as a long pause of the machine would. Resolves when it
 * stands still. Not on Windows, which has no such signal.
 */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  while (!isFrozen(pid)) await sleep(1)
}

/** Lets a frozen process go on where it was (SIGCONT). */
export async function thaw(pid: number): Promise<void> {
  process.kill(pid, 'SIGCONT')
  while (isFrozen(pid)) await sleep(1)
}

function isFrozen(pid: number): boolean {
  return /^[Tt]/.test(stateOf(pid))
}

function stateOf(pid: number): string {
  if (process.platform !== 'linux')
    return execFileSync('ps', ['-o', 'state=', '-p', String(pid)])
      .toString()
      .trim()
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2)
}
