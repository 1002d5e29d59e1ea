/** The terminal as a real process, from its sources, in folders of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { terminalArguments } from '../build/programs.ts'

export const FIXTURE: string = resolve('test/cli/fixture/holdfast.config.ts')
/** Node's arguments before those of the terminal. */
export const LAUNCH: readonly string[] = terminalArguments()

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Launch {
  readonly cwd: string
  readonly input?: string | Buffer
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Something to do with the process while it runs. */
  readonly meanwhile?: (child: ChildProcess) => void
}

/** The environment without anything that would choose a model or a colour. */
export function cleanEnv(more: Readonly<Record<string, string | undefined>> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/_API_KEY$|^(HOLDFAST_|NO_COLOR$|FORCE_COLOR$|NODE_OPTIONS$|VITEST)/.test(name),
  )
  return { ...Object.fromEntries(kept), ...more }
}

export function holdfast(
  args: readonly string[],
  { cwd, input = '', env, meanwhile }: Launch,
): Promise<Finished> {
  const child = spawn(process.execPath, [...LAUNCH, ...args], { cwd, env: cleanEnv(env) })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  // A process that refuses large input closes the pipe.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  meanwhile?.(child)
  return new Promise((settle, fail) => {
    child.once('error', fail)
    child.once('close', (code) => settle({ code, stdout, stderr }))
  })
}

/** Folders that are gone when the tests are over. */
export class Folders {
  readonly #made: string[] = []

  make(files: Readonly<Record<string, string>> = {}): string {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-cli-'))
    this.#made.push(folder)
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), text)
    }
    return folder
  }

  remove(): void {
    for (const folder of this.#made) rmSync(folder, { recursive: true, force: true })
  }
}

/** Lines of calls without how long they took, which is shown on a slow machine. */
export function withoutTimes(text: string): string {
  return text.replaceAll(/ [\d.]+s(?= →)/g, '')
}

/** With the agents of the fixture, and conversations in the working folder. */
export function site(args: readonly string[], launch: Launch): Promise<Finished> {
  const [command = '', ...rest] = args
  const env = { HOLDFAST_HOME: join(launch.cwd, 'data'), ...launch.env }
  return holdfast([command, '--config', FIXTURE, ...rest], { ...launch, env })
}
