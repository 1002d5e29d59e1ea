/** The terminal in this process: the same `main`, with streams that are recorded. */
import { PassThrough } from 'node:stream'
import { openOutputs } from '../../../src/cli/gate/outputs.ts'
import { type CommandEnvironment, main } from '../../../src/cli/main.ts'
import { COLUMNS, ROWS } from './emulator.ts'
import type { Shared } from './fields.ts'

/** Shared with the config by a global, since its module may be loaded by another loader. */
export const shared: Shared = ((globalThis as { holdfastPayload?: Shared }).holdfastPayload ??= {
  fields: undefined,
})

export interface Recorded {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  /** Both in their order, as one terminal sees them. */
  readonly both: string
}

export interface Launch {
  readonly args: readonly string[]
  readonly isTTY: boolean
  readonly cwd: string
  /** Lines to type, each at the next prompt. */
  readonly typed?: readonly string[]
  /** All of the input, for a command that reads it to its end. */
  readonly input?: string
  /** Requests of a program, each written when the one before is answered. */
  readonly requests?: readonly object[]
}

/** A stream that is recorded, alone and with the other one. */
export class Recorder {
  readonly isTTY: boolean
  readonly columns: number = COLUMNS
  readonly rows: number = ROWS
  text = ''
  readonly #both: { text: string }

  constructor(isTTY: boolean, both: { text: string }) {
    this.isTTY = isTTY
    this.#both = both
  }

  write(text: string, done?: () => void): true {
    this.text += text
    this.#both.text += text
    done?.()
    return true
  }

  on(): void {}
}

/** What the line editor of Node has drawn when it waits. */
const ESC = '\u001b'
const PROMPT = new RegExp(`› ${ESC}\\[\\d+G$|\\[y/N\\] ${ESC}\\[\\d+G$`)

export async function launch(options: Launch): Promise<Recorded> {
  const { args, isTTY, cwd, typed = [], input, requests = [] } = options
  const both = { text: '' }
  const stdout = new Recorder(isTTY, both)
  const stderr = new Recorder(isTTY, both)
  const env = { NO_COLOR: '1', HOLDFAST_HOME: cwd }
  const outputs = openOutputs({ stdout, stderr }, { env })
  const foreign = { write: (_chunk: unknown): unknown => true, end: (): unknown => true }
  outputs.foreign.take(foreign)
  shared.print = (text) => foreign.write(text)
  const keys = Object.assign(new PassThrough(), { isTTY, setRawMode: () => keys })
  if (input !== undefined) keys.end(input)
  const stdin = keys as unknown as CommandEnvironment['stdin']
  // No time passes: a slow machine must not show how long a call took.
  const now = performance.now.bind(performance)
  performance.now = () => 0
  const ended = main(args, { ...outputs, cwd, env, stdin }).finally(() => {
    performance.now = now
  })
  if (isTTY && typed.length > 0) await type(typed, { keys, both, ended })
  if (requests.length > 0) await request(requests, { keys, stdout })
  const code = await ended
  return { code, stdout: stdout.text, stderr: stderr.text, both: both.text }
}

interface Requesting {
  readonly keys: PassThrough
  readonly stdout: { readonly text: string }
}

async function request(requests: readonly object[], { keys, stdout }: Requesting): Promise<void> {
  for (const [id, each] of requests.entries()) {
    keys.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...each })}\n`)
    const started = Date.now()
    while (!stdout.text.split('\n').some((line) => line.includes(`"id":${id}`))) {
      await new Promise((next) => setTimeout(next, 1))
      if (Date.now() - started > PATIENCE_MS) throw new Error(`No answer to ${JSON.stringify(each)}`)
    }
  }
  keys.end()
}

const PATIENCE_MS = 60_000

interface Typing {
  readonly keys: PassThrough
  readonly both: { readonly text: string }
  readonly ended: Promise<number>
}

/** Types each line when the one before has led to the next prompt. */
async function type(lines: readonly string[], { keys, both, ended }: Typing): Promise<void> {
  let isOver = false
  void ended.finally(() => {
    isOver = true
  })
  for (const line of lines) {
    const before = Date.now()
    while (!isOver && !PROMPT.test(both.text)) {
      await new Promise((next) => setTimeout(next, 1))
      if (Date.now() - before > PATIENCE_MS)
        throw new Error(`No prompt for ${JSON.stringify(line)}: ${JSON.stringify(both.text.slice(-200))}`)
    }
    if (isOver) return
    const drawn = both.text
    keys.write(`${line}\r`)
    while (!isOver && both.text === drawn) await new Promise((next) => setTimeout(next, 1))
  }
}
