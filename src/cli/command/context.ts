/** The context and the type of a command. */

import { Writable } from 'node:stream'
import type { Store } from 'holdfast'
import type { Head } from 'holdfast/store'
import type { Output } from 'holdfast/terminal'
import { type ParsedArguments, shellWord } from '../arguments.ts'
import { EXIT } from '../exit-code.ts'
import type { Outputs } from '../gate/outputs.ts'
import { homePath } from '../home-path.ts'
import { openMcp } from '../mcp-tools.ts'
import { type ContextScope, findContext, ownerFrom } from '../names.ts'
import { wrongUsage } from '../refusal.ts'
import { Workspace } from '../workspace.ts'

export interface CommandContext extends Outputs {
  readonly args: ParsedArguments
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: NodeJS.ReadStream
  readonly version: string
}

/** Runs the command and resolves to its exit code. An error that it throws is printed. */
export type Command = (context: CommandContext) => Promise<number>

/** The config of `holdfast serve CONFIG` and its like, which take it as a word or as an option. */
export function configOf({ args }: CommandContext): string | undefined {
  const [word] = args.words
  const option = args.value('config')
  if (word !== undefined && option !== undefined)
    throw wrongUsage(`The config is given twice. Keep one: holdfast ${args.command?.name ?? ''} CONFIG`)
  return word === undefined ? option : homePath(word)
}

/** The config, and the MCP servers of `--mcp`, which the command closes. */
export async function workspaceOf(
  context: CommandContext,
  config: string | undefined = context.args.value('config'),
): Promise<Workspace> {
  const { args, cwd, env } = context
  const workspace = await Workspace.load({ cwd, env, config })
  const file = args.value('mcp')
  if (file !== undefined) await openServers(context, workspace, file)
  return workspace
}

/** Starts the MCP servers of a file, unless those of the command run. */
export async function openServers(
  { cwd, env, foreign }: CommandContext,
  workspace: Workspace,
  file: string,
): Promise<void> {
  workspace.mcp ??= await openMcp({ file, cwd, env, print: (problem) => foreign.print(problem) })
}

/** The conversations that `--agent`, `--tenant` and `--actor` choose. */
export function scopeOf({ args }: CommandContext, workspace: Workspace): ContextScope {
  const owner = ownerFrom(args)
  const agents = workspace.namesFrom(args.value('agent'))
  return owner === undefined ? { agents } : { agents, owner }
}

export interface FoundConversation {
  readonly workspace: Workspace
  readonly store: Store
  readonly head: Head
}

/** Shows the conversation that the first word names. Throws if there is none. */
export async function showConversation(
  context: CommandContext,
  show: (found: FoundConversation) => Promise<void>,
): Promise<number> {
  const workspace = await workspaceOf(context)
  const store = workspace.openStore('read')
  try {
    const head = await findContext(store, context.args.words[0] ?? '', scopeOf(context, workspace))
    if (store !== undefined) await show({ workspace, store, head })
    return EXIT.done
  } finally {
    await store?.close()
  }
}

/** The options of the command that were given, to be typed again. */
export function optionsAgain({ args }: CommandContext, names: readonly string[]): readonly string[] {
  return names.flatMap((name) => {
    const value = args.value(name)
    return value === undefined ? [] : [`--${name} ${shellWord(value)}`]
  })
}

/** Standard output for a protocol whose messages are lines of JSON. */
export function jsonOutput(out: Output): Writable {
  return new Writable({
    write: (chunk: Buffer, _, done) => {
      for (const line of chunk.toString('utf8').split('\n')) if (line !== '') out.json(JSON.parse(line))
      done()
    },
  })
}

/** The width of lines; text for another program is not cut. */
export function columnsOf(output: Output): number {
  return output.isTTY ? Math.max(20, output.columns || 80) : Number.POSITIVE_INFINITY
}
