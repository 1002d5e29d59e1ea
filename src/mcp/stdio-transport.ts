/**
 * The process of a server, and its messages over standard input and output. The process leads a group of its own, which is
 * killed with it; the package's own transport starts no group, and probes a server by starting it twice.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { systemTimer } from '../base/index.ts'
import { quote } from '../protocol/index.ts'
import type { StdioTarget } from './config.ts'
import type { ClientSdk, JsonRpcMessage, Transport } from './sdk.ts'

/** How long a server may take to end after its input is closed, and again after SIGTERM. */
const GRACE_MS = 1000
/** How long output of an ended server is read. */
const DRAIN_MS = 200
const LINE_FEED = 10
/** The part of standard error that is kept. */
const MOST_STDERR = 8 * 1024

export interface StdioTransportOptions {
  readonly target: StdioTarget
  readonly environment: Readonly<Record<string, string>>
  readonly maxMessageBytes: number
}

export class StdioTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport['onmessage']
  /** Why the connection ended, if not by `close`. */
  ended: string | undefined
  readonly #options: StdioTransportOptions
  readonly #sdk: Pick<ClientSdk, 'deserializeMessage' | 'serializeMessage'>
  /** A line that has not ended yet; joined once, because a server may send it in small pieces. */
  readonly #parts: Buffer[] = []
  #pending = 0
  #child: ChildProcessWithoutNullStreams | undefined
  #errors = ''
  readonly #exited = Promise.withResolvers<void>()
  #isClosed = false
  #isEnded = false

  constructor(
    sdk: Pick<ClientSdk, 'deserializeMessage' | 'serializeMessage'>,
    options: StdioTransportOptions,
  ) {
    this.#sdk = sdk
    this.#options = options
  }

  /**
   * Undefined once it has ended: another process may have the number by then. The package recognises a process by this
   * property and the next, and then takes silence for an old server.
   */
  get pid(): number | undefined {
    return this.#isEnded ? undefined : this.#child?.pid
  }

  get stderr(): null {
    return null
  }

  /** The end of standard error. */
  get errorOutput(): string {
    return this.#errors
  }

  start(): Promise<void> {
    const { target, environment } = this.#options
    const child = spawn(target.command, target.args, {
      cwd: target.cwd,
      env: { ...environment, ...target.env },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
      windowsHide: true,
    })
    this.#child = child
    child.stdout.on('data', (chunk: Buffer) => this.#receive(chunk))
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = `${this.#errors}${text}`.slice(-MOST_STDERR).toWellFormed()
    })
    for (const stream of [child.stdout, child.stderr]) stream.on('error', (error) => this.onerror?.(error))
    // The message that was being sent fails by it.
    child.stdin.on('error', () => {})
    return new Promise((resolve, reject) => {
      child.once('spawn', () => {
        keepTrack(child)
        resolve()
      })
      child.once('error', (error) => {
        this.#end(startProblem(target, error))
        reject(new Error(startProblem(target, error)))
      })
      child.once('exit', (code, signal) => void this.#exit(code, signal))
    })
  }

  async send(message: JsonRpcMessage): Promise<void> {
    const { stdin } = this.#child ?? {}
    if (stdin === undefined || this.#isClosed || !stdin.writable)
      throw new Error(this.ended ?? 'The server has ended.')
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    stdin.write(this.#sdk.serializeMessage(message), (error) => (error ? reject(error) : resolve()))
    try {
      await promise
    } catch (cause) {
      // A server that takes no input has ended, or is about to: how it ends says more than the broken pipe.
      await this.#exitsWithin(GRACE_MS)
      throw new Error(this.ended ?? 'It has closed its standard input.', { cause })
    }
  }

  /** Ends the process: its input is closed, then its group gets SIGTERM, then SIGKILL. */
  async close(): Promise<void> {
    const child = this.#child
    this.#isClosed = true
    if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      child.stdin.end()
      if (!(await this.#exitsWithin(GRACE_MS))) signalGroup(child, 'SIGTERM')
      if (!(await this.#exitsWithin(GRACE_MS))) signalGroup(child, 'SIGKILL')
      await this.#exited.promise
    }
    this.#end()
  }

  async #exitsWithin(ms: number): Promise<boolean> {
    const end = new AbortController()
    const timeout = systemTimer.wait(ms, { signal: end.signal }).then(() => false)
    const isOver = await Promise.race([this.#exited.promise.then(() => true), timeout])
    end.abort()
    return isOver
  }

  #receive(chunk: Buffer): void {
    if (this.ended !== undefined) return
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      this.#take(Buffer.concat([...this.#parts.splice(0), chunk.subarray(start, end)]))
      this.#pending = 0
      start = end + 1
    }
    this.#parts.push(chunk.subarray(start))
    this.#pending += chunk.length - start
    if (this.#pending > this.#options.maxMessageBytes) this.#stop()
  }

  /** Lines that are no messages are reported and passed over. */
  #take(line: Buffer): void {
    if (line.length > this.#options.maxMessageBytes) return this.#stop()
    const text = line.toString('utf8').trim()
    if (text === '') return
    try {
      this.onmessage?.(this.#sdk.deserializeMessage(text))
    } catch (error) {
      this.onerror?.(new Error('It sent a line that is no message.', { cause: error }))
    }
  }

  #stop(): void {
    this.#parts.splice(0)
    this.ended = `It sent a message of more than ${this.#options.maxMessageBytes} bytes, and was stopped.`
    this.onerror?.(new Error(this.ended))
    if (this.#child !== undefined) signalGroup(this.#child, 'SIGKILL')
  }

  async #exit(code: number | null, signal: NodeJS.Signals | null): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    // Processes that it left behind would keep its pipes, and run without an owner.
    signalGroup(child, 'SIGKILL')
    tracked.delete(child)
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
    await Promise.race([closed, systemTimer.wait(DRAIN_MS)])
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
    this.#exited.resolve()
    this.#end(this.#isClosed ? undefined : `It ended with ${signal ?? `exit code ${code ?? 0}`}.`)
  }

  #end(why?: string): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.ended ??= why
    this.#isClosed = true
    this.#parts.splice(0)
    this.#exited.resolve()
    this.onclose?.()
  }
}

function startProblem({ command, cwd }: StdioTarget, error: NodeJS.ErrnoException): string {
  if (error.code !== 'ENOENT') return `It cannot be started: ${error.message}.`
  const where = cwd === undefined ? '' : `, or no folder ${quote(cwd)}`
  return `It cannot be started: there is no command ${quote(command)} in PATH${where}.`
}

/** The running servers: they end with this process, if it ends by itself. */
const tracked = new Set<ChildProcessWithoutNullStreams>()

function keepTrack(child: ChildProcessWithoutNullStreams): void {
  if (!isWatching) process.on('exit', () => tracked.forEach((each) => signalGroup(each, 'SIGKILL')))
  isWatching = true
  tracked.add(child)
}

let isWatching = false

function signalGroup(child: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): void {
  try {
    if (child.pid === undefined) return
    if (process.platform === 'win32') child.kill(signal)
    else process.kill(-child.pid, signal)
  } catch {
    // The group is gone.
  }
}
