/**
 * The pipes from a child process to this one: standard output and standard error, read until both are closed or idle.
 * Real pipes and not the sockets of Node, which no program can open again as /dev/stderr.
 */
import { execFile } from 'node:child_process'
import { constants, openSync } from 'node:fs'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { systemTimer } from '../base/index.ts'

export type OutputStream = 'stdout' | 'stderr'

/** Gets the output in the order of its arrival. While a returned promise is pending, that stream is not read. */
export type OnOutput = (stream: OutputStream, bytes: Buffer) => Promise<void> | undefined

/** Descriptors to be inherited. */
export type WriteEnds = Readonly<Record<OutputStream, number>>

const STREAMS = ['stdout', 'stderr'] as const

/** Opens the pipes and starts a child with them; from then on only the child has their writing ends. */
export async function withPipes<T>(
  onOutput: OnOutput,
  start: (ends: WriteEnds) => Promise<T>,
): Promise<{ readonly output: OutputPipes; readonly started: T }> {
  const { pipes, ends } = await openPipes()
  const [stdout, stderr] = ends
  try {
    const output = new OutputPipes(pipes, onOutput)
    return { output, started: await start({ stdout: stdout.fd, stderr: stderr.fd }) }
  } finally {
    for (const end of ends) await end.close()
  }
}

interface OpenPipes {
  readonly pipes: Readonly<Record<OutputStream, Readable>>
  readonly ends: readonly [stdout: FileHandle, stderr: FileHandle]
}

/** Never the PATH of this process: it may lead into the working folder, and mkfifo runs outside of the sandbox. */
const SYSTEM_PATH = '/usr/bin:/bin:/run/current-system/sw/bin'

/** Named only until they are open. */
async function openPipes(): Promise<OpenPipes> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-pipes-'))
  try {
    const [stdout, stderr] = [join(folder, 'stdout'), join(folder, 'stderr')]
    await promisify(execFile)('mkfifo', ['-m', '600', stdout, stderr], { env: { PATH: SYSTEM_PATH } })
    const pipes = { stdout: reader(stdout), stderr: reader(stderr) }
    return { pipes, ends: [await open(stdout, constants.O_WRONLY), await open(stderr, constants.O_WRONLY)] }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** O_NONBLOCK: does not wait for a writer. The socket closes the descriptor. */
function reader(path: string): Readable {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  return new Socket({ fd, readable: true, writable: false })
}

const IDLE_MS = 250
const LONGEST_DRAIN_MS = 5000

/** The reading ends of the two pipes. */
export class OutputPipes {
  readonly #pipes: readonly Readable[]
  readonly #closed: Promise<void>
  #isClosed = false
  /** Streams that wait for their reader. */
  #waiting = 0
  #received = 0

  constructor(pipes: Readonly<Record<OutputStream, Readable>>, onOutput: OnOutput) {
    this.#pipes = STREAMS.map((name) => this.#read(name, pipes[name], onOutput))
    this.#closed = this.#waitForClose()
  }

  /** Waits until all output is read; gives up on pipes that stay open and idle. True if any did. */
  async end(): Promise<boolean> {
    let waited = 0
    while (!this.#isClosed) {
      const before = this.#received
      await this.#closedWithin(IDLE_MS)
      if (this.#isClosed) break
      // A slow reader is no sign of a held pipe.
      if (this.#waiting > 0) continue
      waited += IDLE_MS
      if (this.#received !== before && waited < LONGEST_DRAIN_MS) continue
      for (const pipe of this.#pipes) pipe.destroy()
      return true
    }
    return false
  }

  async #waitForClose(): Promise<void> {
    await Promise.all(this.#pipes.map((pipe) => new Promise((resolve) => pipe.once('close', resolve))))
    this.#isClosed = true
  }

  async #closedWithin(ms: number): Promise<void> {
    const over = new AbortController()
    await Promise.race([this.#closed, systemTimer.wait(ms, { signal: over.signal })])
    over.abort()
  }

  #read(name: OutputStream, pipe: Readable, onOutput: OnOutput): Readable {
    // A pipe that fails is closed.
    pipe.on('error', () => {})
    return pipe.on('data', (bytes: Buffer) => {
      this.#received += bytes.length
      const handled = onOutput(name, bytes)
      if (handled === undefined) return
      this.#waiting += 1
      pipe.pause()
      void handled.finally(() => {
        this.#waiting -= 1
        pipe.resume()
      })
    })
  }
}
