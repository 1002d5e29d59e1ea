/**
 * The progress of a long command, on stderr: work done, findings, remaining time. A terminal gets one line that is
 * overwritten; a file or a pipe gets a line every fifteen seconds. `interruptible` prints a command's table after Ctrl-C.
 */
const EVERY_MS = { terminal: 100, file: 15_000 }

export class Progress {
  readonly #total: number
  readonly #unit: string
  /** Some commands hold `performance.now` still. */
  readonly #started = Date.now()
  readonly #stream: NodeJS.WriteStream
  readonly #timer: NodeJS.Timeout
  #done = 0
  #found = ''

  constructor(total: number, unit: string, stream: NodeJS.WriteStream = process.stderr) {
    this.#total = total
    this.#unit = unit
    this.#stream = stream
    this.#timer = setInterval(() => this.#show(), stream.isTTY ? EVERY_MS.terminal : EVERY_MS.file).unref()
  }

  /** @param found counted so far, such as `3 wrong` */
  add(count: number, found = ''): void {
    this.#done += count
    this.#found = found
  }

  end(): void {
    clearInterval(this.#timer)
    this.clear()
  }

  /** Removes the line, before other output. */
  clear(): void {
    if (this.#stream.isTTY) this.#stream.write('\r\u001B[K')
  }

  #show(): void {
    const seconds = (Date.now() - this.#started) / 1000
    const left = this.#done === 0 ? undefined : (seconds / this.#done) * Math.max(0, this.#total - this.#done)
    const line = [
      `${this.#done} of ${this.#total} ${this.#unit}`,
      ...(this.#found === '' ? [] : [this.#found]),
      `${Math.round(seconds)} s`,
      ...(left === undefined ? [] : [`about ${Math.ceil(left)} s left`]),
    ].join(', ')
    this.#stream.write(this.#stream.isTTY ? `\r\u001B[K${line}` : `${line}\n`)
  }
}

/** Runs `work`; Ctrl-C or SIGTERM calls `stopped`, which prints the partial result, and ends the process with 130. */
export async function interruptible(work: () => Promise<void>, stopped: () => void): Promise<void> {
  const stop = (): void => {
    process.stderr.write('\nInterrupted. So far:\n')
    try {
      stopped()
    } finally {
      process.exit(130)
    }
  }
  process.on('SIGINT', stop).on('SIGTERM', stop)
  try {
    await work()
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}
