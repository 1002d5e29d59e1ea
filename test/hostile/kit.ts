/** What the hostile tests share: folders that go away, processes that are killed, bytes that are looked at. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, expect } from 'vitest'
import { type ErrorCode, HoldfastError } from '../../src/protocol/index.ts'
import { moduleFile, programFile } from '../build/programs.ts'

export interface Workplace {
  readonly folder: () => string
  readonly path: (name?: string) => string
  readonly start: (code: string, options?: ChildOptions) => Child
}

/** Call it at the top of a test file: folders are removed and processes killed after each test. */
export function workplace(): Workplace {
  const folders: string[] = []
  const children: ChildProcess[] = []
  afterEach(() => {
    for (const file of looked.splice(0)) closeSync(file)
    for (const child of children.splice(0)) child.kill('SIGKILL')
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
  })
  const folder = () => {
    const path = mkdtempSync(join(tmpdir(), 'holdfast-hostile-'))
    folders.push(path)
    return path
  }
  return {
    folder,
    path: (name = 'store.db') => join(folder(), name),
    start: (code, options) => {
      const child = startChild(code, options)
      children.push(child.process)
      return child
    },
  }
}

/** What moves a cursor, hides text or turns it around in somebody's terminal. */
const UNPRINTABLE = /\p{Cc}|\p{Cf}|\p{Cs}|\p{Zl}|\p{Zp}/u

/** The error that something ends in; fails if it ends well. What everybody may expect of an error is checked here. */
export async function errorOf(run: () => unknown): Promise<HoldfastError> {
  try {
    await run()
  } catch (error) {
    if (!HoldfastError.is(error)) throw error
    expect(error.message.length).toBeLessThan(1000)
    expect(JSON.stringify(error).length).toBeLessThan(2000)
    expect(error.message).not.toMatch(UNPRINTABLE)
    return error
  }
  throw new Error('It went well, and should not have.')
}

/** The different codes that several calls end in. */
export async function codesOf(runs: readonly (() => unknown)[]): Promise<string[]> {
  const codes = new Set<string>()
  for (const run of runs) codes.add((await errorOf(run)).code)
  return [...codes]
}

export async function codeOf(run: () => unknown): Promise<ErrorCode | 'ok'> {
  try {
    await run()
    return 'ok'
  } catch (error) {
    if (HoldfastError.is(error)) return error.code
    throw error
  }
}

const looked: number[] = []

/** The file stays open until the test is over: closing it would drop the locks that SQLite holds on it. */
function bytesOf(path: string): Buffer {
  if (!existsSync(path)) return Buffer.alloc(0)
  const file = openSync(path, 'r')
  looked.push(file)
  return readFileSync(file)
}

export function hashOfFile(path: string): string {
  return createHash('sha256').update(bytesOf(path)).digest('hex')
}

export function hasText(path: string, text: string): boolean {
  return ['', '-wal', '-journal'].some((side) => bytesOf(path + side).includes(text))
}

export interface Child {
  readonly process: ChildProcess
  /** The next line that it prints, as JSON. */
  readonly next: () => Promise<unknown>
  readonly exited: Promise<number | null>
  readonly kill: () => Promise<number | null>
}

export interface ChildOptions {
  readonly args?: readonly string[]
  readonly uid?: number
  /** Put before the command, such as a limit. */
  readonly shell?: string
}

/** Runs a module text in a process of its own. It sees `say(value)`, and `args` as given. */
function startChild(code: string, { args = [], uid, shell }: ChildOptions = {}): Child {
  const source = `
    const args = ${JSON.stringify(args)}
    const say = (value) => process.stdout.write(JSON.stringify(value) + '\\n')
    ${code}`
  const node = [
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    '--input-type=module',
    '-e',
    source,
  ]
  const command = shell === undefined ? node : ['bash', '-c', `${shell}; exec "$@"`, 'bash', ...node]
  const identity = uid === undefined ? {} : { uid, gid: uid }
  const child = spawn(command[0] as string, command.slice(1), {
    ...identity,
    cwd: process.cwd(),
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const exited = new Promise<number | null>((resolve) => child.on('exit', resolve))
  return {
    process: child,
    next: async () => {
      const { value, done } = await lines.next()
      if (done) throw new Error('The other process ended without a word.')
      return JSON.parse(value) as unknown
    },
    exited,
    kill: () => {
      child.kill('SIGKILL')
      return exited
    },
  }
}

/** Where a child finds the store. */
export const SQLITE_MODULE: string = moduleFile('store/sqlite/index.ts')
export const REPAIR_MODULE: string = moduleFile('store/sqlite/repair/index.ts')
export const SCHEMA_MODULE: string = programFile('src/store/sqlite/schema.ts')

export function linesOf(path: string): unknown[] {
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
}
