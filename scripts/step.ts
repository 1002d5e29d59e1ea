/**
 * Runs the steps of check, verify and the package test, and measures each.
 * Tools are found in node_modules/.bin first, so a step is the same under npm and without it.
 */
import { spawn } from 'node:child_process'
import { delimiter, resolve } from 'node:path'

export interface Step {
  readonly name: string
  readonly command: readonly [string, ...string[]]
  /** The working folder; by default the root of the project. */
  readonly cwd?: string
}

export interface StepResult {
  readonly name: string
  readonly ok: boolean
  readonly seconds: number
  /** Its output; empty if it printed straight to the terminal. */
  readonly output: string
}

/** Runs one step. A quiet one keeps its output for the caller, a loud one prints as it goes. */
export async function runStep(step: Step, mode: 'quiet' | 'loud'): Promise<StepResult> {
  const started = performance.now()
  const [file, ...args] = step.command
  const child = spawn(file, args, {
    cwd: step.cwd ?? process.cwd(),
    env: { ...process.env, PATH: `${resolve('node_modules/.bin')}${delimiter}${process.env['PATH'] ?? ''}` },
    stdio: ['ignore', mode === 'loud' ? 'inherit' : 'pipe', mode === 'loud' ? 'inherit' : 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const ok = await new Promise<boolean>((settle, fail) => {
    child.on('error', fail)
    child.on('close', (code) => settle(code === 0))
  })
  return { name: step.name, ok, seconds: (performance.now() - started) / 1000, output }
}

/** One line for a finished step: its mark, name and time. */
export function summary(result: StepResult): string {
  return `${result.ok ? 'ok  ' : 'FAIL'} ${result.name.padEnd(14)} ${result.seconds.toFixed(1)} s`
}
