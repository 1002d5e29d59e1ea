/** What every command is given. */
import type { Given } from '../arguments.ts'
import type { Output } from '../gate/output.ts'
import type { Outputs } from '../gate/outputs.ts'
import { Workspace } from '../workspace.ts'

export interface CommandContext extends Outputs {
  readonly given: Given
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: NodeJS.ReadStream
  readonly version: string
}

/** Carries it out, and says with which code to exit. What it throws is told to the person. */
export type Command = (context: CommandContext) => Promise<number>

export function workspaceOf({ given, cwd, env }: CommandContext): Promise<Workspace> {
  return Workspace.load({ cwd, env, config: given.value('config') })
}

/** How wide lines may be; text for another program is not cut. */
export function columnsOf(output: Output): number {
  return output.isTTY ? Math.max(20, output.columns || 80) : Number.POSITIVE_INFINITY
}
