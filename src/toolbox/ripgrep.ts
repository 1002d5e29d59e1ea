/**
 * Ripgrep as a child process: where its program is, how it is started, and its output as records. Knows nothing of regexes
 * and results.
 *
 * The process gets no environment, no config file and no standard input, starts no other program and follows no links. It
 * still opens files by their paths, so a folder that is swapped for a link while it runs can lead it astray: contents that
 * it reports are compared with the file that the workspace opens (search-text.ts).
 */
import { spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { foldersOutside } from './program-folders.ts'

export const RIPGREP_COMMAND = 'npm install @vscode/ripgrep'

export interface RipgrepPlaces {
  /** Loads the optional package. */
  readonly load?: () => Promise<{ readonly rgPath: string }>
  /** The value of PATH. */
  readonly path?: string
}

/**
 * The program of the package @vscode/ripgrep, or else `rg` on the PATH. Relative folders of the PATH and folders inside of
 * the working folder, by whatever link, do not count: a model may write there.
 */
export async function findRipgrep(root: string, places: RipgrepPlaces = {}): Promise<string | null> {
  const { load = () => import('@vscode/ripgrep'), path = process.env['PATH'] ?? '' } = places
  try {
    const { rgPath } = await load()
    if (await isProgram(rgPath)) return rgPath
  } catch {}
  const name = process.platform === 'win32' ? 'rg.exe' : 'rg'
  for (const folder of foldersOutside(root, path))
    if (await isProgram(join(folder, name))) return join(folder, name)
  return null
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

export interface RipgrepRun {
  readonly program: string
  /** After the fixed ones. What a model gives belongs behind `--regexp=`, `--glob=` or `--`. */
  readonly args: readonly string[]
  readonly cwd: string
  /** Kills the process. */
  readonly signal: AbortSignal
  /** The byte that ends a record. */
  readonly separator: number
  /** Gets one record of the output, or the first 64 KB of a longer one. */
  readonly onRecord: (record: Buffer) => void
}

export interface RipgrepEnd {
  /** 0: found, 1: nothing found, 2: an error. */
  readonly code: number
  /** The beginning of standard error. */
  readonly errors: string
}

/** Ignore files count, as git reads them. Hidden files are seen. */
const FIXED_ARGS: readonly string[] = [
  '--no-config',
  '--no-follow',
  '--no-search-zip',
  '--no-ignore-global',
  '--no-mmap',
  '--color=never',
  '--hidden',
  '--sort=path',
]

/** The folders and temporary files that are left out, unless they are named. Given last, because the last glob that matches decides. */
export const EXCLUDED: readonly string[] = ['.git', 'node_modules', '.holdfast', '.holdfast-*.tmp'].map(
  (name) => `--glob=!${name}`,
)

const MOST_ERROR_BYTES = 4096
const MOST_RECORD_BYTES = 64 * 1024

/** Runs ripgrep to its end. Rejects with the reason of the signal, or if the process cannot be started. */
export async function runRipgrep(run: RipgrepRun): Promise<RipgrepEnd> {
  const { program, args, cwd, signal, separator, onRecord } = run
  signal.throwIfAborted()
  const child = spawn(program, [...FIXED_ARGS, ...args], {
    cwd,
    env: {},
    stdio: ['ignore', 'pipe', 'pipe'],
    windowsHide: true,
  })
  const kill = (): void => void child.kill('SIGKILL')
  signal.addEventListener('abort', kill)
  const closed = new Promise<number | null>((end, fail) => {
    child.on('error', ({ message }) => fail(new Error(`ripgrep cannot be started: ${message}.`)))
    child.on('close', end)
  })
  closed.catch(() => {})
  let errors = Buffer.alloc(0)
  child.stderr.on('data', (chunk: Buffer) => {
    if (errors.length < MOST_ERROR_BYTES) errors = Buffer.concat([errors, chunk])
  })
  try {
    const records = new RecordSplitter(separator)
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      if (!signal.aborted) for (const record of records.push(chunk)) onRecord(record)
    }
    const code = await closed
    signal.throwIfAborted()
    if (code === null) throw new Error(`ripgrep was ended by ${child.signalCode}. Try again.`)
    return { code, errors: errors.subarray(0, MOST_ERROR_BYTES).toString('utf8') }
  } finally {
    signal.removeEventListener('abort', kill)
    kill()
  }
}

/** Splits chunks into records in bounded memory. Output after the last separator is no record. */
class RecordSplitter {
  readonly #separator: number
  #parts: Buffer[] = []
  #length = 0

  constructor(separator: number) {
    this.#separator = separator
  }

  *push(chunk: Buffer): Generator<Buffer, void, undefined> {
    let start = 0
    for (;;) {
      const end = chunk.indexOf(this.#separator, start)
      this.#add(chunk.subarray(start, end === -1 ? chunk.length : end))
      if (end === -1) return
      yield this.#take()
      start = end + 1
    }
  }

  #add(part: Buffer): void {
    const room = MOST_RECORD_BYTES - this.#length
    if (part.length > 0 && room > 0) this.#parts.push(part.subarray(0, room))
    this.#length += part.length
  }

  #take(): Buffer {
    const [first = Buffer.alloc(0)] = this.#parts
    const bytes = this.#parts.length > 1 ? Buffer.concat(this.#parts) : first
    this.#parts = []
    this.#length = 0
    return bytes
  }
}
