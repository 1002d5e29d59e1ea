/** What every command is given. */
import type { Given } from '../arguments.ts'
import type { Style } from '../terminal/style.ts'
import { Workspace } from '../workspace.ts'

export interface CommandContext {
  readonly given: Given
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  /** For what goes to standard output, and for what goes to standard error. */
  readonly style: Style
  readonly errorStyle: Style
  readonly version: string
}

/** Carries it out, and says with which code to exit. What it throws is told to the person. */
export type Command = (context: CommandContext) => Promise<number>

export function workspaceOf({ given, cwd, env }: CommandContext): Promise<Workspace> {
  return Workspace.load({ cwd, env, config: given.value('config') })
}

/** How wide lines may be; text for another program is not cut. */
export function columnsOf({ stdout }: CommandContext): number {
  return stdout.isTTY ? Math.max(20, stdout.columns || 80) : Number.POSITIVE_INFINITY
}
