/** A child process of a case: starts it, exchanges messages with it, and kills it at the latest when the case ends. */
import assert from 'node:assert/strict'
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { inTime } from './assertions.ts'
import type { StoreWorker } from './harness.ts'
import type { Job, Message } from './worker.ts'

/** Long enough for eight children to start on a busy machine. */
const PATIENCE_MS = 120_000

export class Child {
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #lines: AsyncIterator<string, unknown>
  readonly #exit: Promise<[number | null, NodeJS.Signals | null]>
  #complaint = ''

  constructor(worker: StoreWorker, job: Job) {
    const args = ['--no-warnings', '--input-type=module', '-e', scriptFor(worker.module)]
    this.#process = spawn(process.execPath, [...args, worker.argument, JSON.stringify(job)], {
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.#exit = once(this.#process, 'close') as Promise<[number | null, NodeJS.Signals | null]>
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]()
    this.#process.stderr.on('data', (text: Buffer) => {
      this.#complaint += text.toString()
    })
    // A killed process does not read any more.
    this.#process.stdin.on('error', () => {})
  }

  get pid(): number {
    return this.#process.pid ?? 0
  }

  /** The next message; undefined at the end of its output. */
  async next(): Promise<Message | undefined> {
    const next = await inTime(this.#lines.next(), 'a word from the child', PATIENCE_MS)
    return next.done === true ? undefined : (JSON.parse(next.value) as Message)
  }

  /** The next message, which must have this field. */
  async expect<K extends string>(key: K): Promise<Extract<Message, Record<K, unknown>>> {
    const message = await this.next()
    if (message === undefined || !(key in message))
      assert.fail(`expected "${key}" from the child, not ${JSON.stringify(message)} ${this.#complaint}`)
    return message as Extract<Message, Record<K, unknown>>
  }

  /** All remaining messages. */
  async rest(): Promise<Message[]> {
    const messages: Message[] = []
    for (let message = await this.next(); message !== undefined; message = await this.next())
      messages.push(message)
    return messages
  }

  tell(line: string): void {
    this.#process.stdin.write(`${line}\n`)
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  /** Waits until it has exited: with code 0, or by this signal. */
  async gone(by?: NodeJS.Signals): Promise<void> {
    const [code, signal] = await inTime(this.#exit, 'the end of the child', PATIENCE_MS)
    assert.deepEqual([code, signal], by === undefined ? [0, null] : [null, by], this.#complaint)
  }

  /** SIGKILL works on a stopped process, too. */
  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    this.#process.kill('SIGKILL')
    await this.#exit
  }
}

/** A child has no file of its own: it imports the job from this package and the store from the harness's module. */
function scriptFor(module: string): string {
  const worker = new URL('./worker.ts', import.meta.url).href
  return `import { open } from ${JSON.stringify(module)}
import { work } from ${JSON.stringify(worker)}
await work(open)`
}
