/** Commands in a folder of their own, run as calls of the tool, and what is known about them from outside. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemTimer } from '../../src/base/index.ts'
import type { Json } from '../../src/protocol/index.ts'
import { fakeToolContext, memoryArtifacts } from '../../src/testing/index.ts'
import {
  artifacts,
  type Redactor,
  runCall,
  type Settled,
  type Tool,
  type ToolContext,
} from '../../src/tool/index.ts'
import { type CommandResult, type LoadToolsOptions, loadTools } from '../../src/toolbox/index.ts'
import { findSandbox } from '../../src/toolbox/sandbox.ts'

/** Why there is no sandbox here; undefined if there is one. Under CI its absence is never a reason to skip. */
export async function whyNoSandbox(): Promise<string | undefined> {
  if (process.env['CI'] !== undefined) return undefined
  const sandbox = await findSandbox({ root: realpathSync(tmpdir()), network: false, readable: [] })
  return sandbox.kind === 'none' ? sandbox.why : undefined
}

export interface Ran extends CommandResult {
  readonly status: Settled['status']
  /** The text for people, or of the failure. */
  readonly text: string
  readonly progress: readonly Json[]
  readonly artifacts: ToolContext['artifacts']
}

export interface RunOptions {
  readonly cwd?: string
  readonly timeout_ms?: number
  readonly signal?: AbortSignal
  readonly onProgress?: (value: Json) => void
  readonly secrets?: Redactor
}

export class CommandFolder {
  readonly path: string
  tool: Tool | undefined

  constructor(parent: string = tmpdir()) {
    this.path = realpathSync(mkdtempSync(join(parent, 'holdfast-commands-')))
  }

  async load(options: Omit<LoadToolsOptions, 'cwd' | 'toolIds'> = {}): Promise<Tool> {
    const [tool] = await loadTools({ cwd: this.path, toolIds: ['execute_command'], ...options })
    this.tool = tool
    return tool as Tool
  }

  async run(command: string, { signal, onProgress, secrets, ...input }: RunOptions = {}): Promise<Ran> {
    const progress: Json[] = []
    const redacted = secrets === undefined ? {} : { secrets }
    const kept = artifacts(memoryArtifacts()).by(redacted)
    const context = fakeToolContext({
      artifacts: kept,
      progress: (value) => {
        progress.push(value)
        onProgress?.(value)
      },
      ...(signal === undefined ? {} : { signal }),
    })
    const tool = this.tool ?? (await this.load())
    const end = await runCall({
      tool,
      input: { command, ...input },
      context,
      timer: systemTimer,
      ...redacted,
    })
    if (end.kind !== 'settled') throw new Error('a command asked a question')
    const output = end.output as unknown as CommandResult & { readonly error?: string }
    return {
      ...output,
      status: end.status,
      text: end.display ?? output.error ?? '',
      progress,
      artifacts: kept,
    }
  }

  has(name: string): boolean {
    return existsSync(join(this.path, name))
  }

  read(name: string): string {
    return readFileSync(join(this.path, name), 'utf8')
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

/** The processes whose command line contains a mark, by /proc: also those of other namespaces. */
export function processesWith(mark: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(mark)
      } catch {
        return false
      }
    })
    .map(Number)
}

/** A number in a command line, to be found among processes. */
export function newMark(): string {
  return `9${String(process.pid).padStart(7, '0')}${Math.floor(Math.random() * 1e6)}`
}
