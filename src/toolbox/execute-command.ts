/** `execute_command`: a shell command in the working folder, in the sandbox where there is one. */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkOptions, HoldfastError, invalidOption, type JsonObject, quote } from '../protocol/index.ts'
import { defineTool, jsonSchema, type Tool, type ToolContext, toolResult } from '../tool/index.ts'
import { CommandOutput, type OutputEnd } from './command-output.ts'
import { commandEnvironment, shellCommand } from './command-shell.ts'
import { type ProcessEnd, runProcess } from './run-process.ts'
import { findSandbox, type Sandbox, type SandboxMode } from './sandbox.ts'
import type { Workspace } from './workspace.ts'

/** Options of `loadTools` for commands. */
export interface CommandOptions {
  /** Default: `auto`, a sandbox where there is one. `required`: without one, loading fails. */
  readonly sandbox?: SandboxMode
  /** Commands in the sandbox may use the network. Default: false. Without a sandbox they always may. */
  readonly network?: boolean
  /** More environment variables for commands. Beside a few harmless ones they get no others. */
  readonly env?: Readonly<Record<string, string>>
  /** More paths that commands in the sandbox may read, such as the folder of a compiler. Default: none. */
  readonly readable?: readonly string[]
}

/** The options, checked, with the sandbox that was found. */
export interface CommandSettings {
  readonly sandbox: Sandbox
  readonly network: boolean
  readonly env: Readonly<Record<string, string>>
}

/** Looks for the sandbox. Throws `invalid-option` if it is required and does not work. */
export async function commandSettings(options: CommandOptions, root: string): Promise<CommandSettings> {
  const { sandbox: mode = 'auto', network = false, env = {}, readable = [] } = options
  checkOptions(env, {
    place: 'env',
    options: Object.fromEntries(Object.keys(env).map((name) => [name, null])),
  })
  for (const [name, value] of Object.entries(env))
    if (typeof value !== 'string' || /[=\0]/.test(name) || value.includes('\0'))
      throw invalidOption('env', `must have texts as values; ${quote(name)} has none that can be used`)
  for (const path of readable)
    if (typeof path !== 'string' || !/^\/(?!$|proc\b|dev\b|sys\b)/.test(path) || !existsSync(path))
      throw invalidOption('readable', `must have absolute paths of files and folders, not ${quote(path)}`)
  const sandbox: Sandbox =
    mode === 'off'
      ? { kind: 'none', why: "it was switched off (sandbox: 'off')" }
      : await findSandbox({ root, network, readable })
  if (mode === 'required' && sandbox.kind === 'none')
    throw new HoldfastError('invalid-option', {
      message: `sandbox of loadTools() is 'required', and there is no sandbox: ${sandbox.why}. Make bubblewrap work, leave execute_command out of toolIds, or set sandbox to 'auto'.`,
    })
  return { sandbox, network, env }
}

/** The part of the toolbox that commands need. */
export interface CommandContext {
  readonly workspace: Workspace
  readonly commands: CommandSettings
}

interface CommandInput {
  readonly command: string
  readonly cwd?: string
  readonly timeout_ms?: number
}

/** The result for the model. */
export interface CommandResult {
  /** Null if a signal ended the shell. In the sandbox that is 128 + the signal's number instead, as in a shell. */
  readonly exitCode: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
  readonly sandbox: 'bwrap' | 'none'
  /** Why the command was stopped before its end. */
  readonly stopped?: 'timeout' | 'cancelled'
  /** The artifact with the whole output, if `stdout` or `stderr` is shortened. */
  readonly artifact?: string
  readonly notes?: readonly string[]
}

const DEFAULT_TIMEOUT_MS = 120_000
const LONGEST_TIMEOUT_MS = 24 * 60 * 60 * 1000
const LONGEST_COMMAND = 40_000
/** Linux takes less than 128 KB as one argument. */
const LONGEST_COMMAND_BYTES = 128 * 1024 - 1

const PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    command: {
      type: 'string',
      minLength: 1,
      maxLength: LONGEST_COMMAND,
      description: 'The command line, for the shell. It cannot read any input.',
    },
    cwd: {
      type: 'string',
      description: 'The folder to start in, relative to the working folder. Default: the working folder.',
    },
    timeout_ms: {
      type: 'integer',
      minimum: 1,
      maximum: LONGEST_TIMEOUT_MS,
      description: `The command is killed after so many milliseconds. Default: ${DEFAULT_TIMEOUT_MS}.`,
    },
  },
  required: ['command'],
  additionalProperties: false,
}

export function executeCommand(context: CommandContext): Tool {
  const { sandbox } = context.commands
  return defineTool({
    name: 'execute_command',
    description: `Runs a shell command in the working folder and returns its exit code, stdout and stderr. Long output is shortened. The command ends with its shell: background processes are killed. ${confinementText(context)}`,
    input: jsonSchema<CommandInput>(PARAMETERS),
    exclusive: true,
    approve: ({ input }) => questionOf(sandbox, input),
    preview: ({ command, cwd = '.' }) => `in ${cwd}:\n${command}`,
    run: async (input, call) => {
      const result = await execute(context, input, call)
      const isOk = result.exitCode === 0 && result.stopped === undefined
      return toolResult(result, displayOf(input, result), isOk ? {} : { failed: true })
    },
  })
}

/** The default question would show less of the command. */
const LONGEST_SHOWN = 4000

function questionOf(sandbox: Sandbox, { command, cwd }: CommandInput): string {
  const rest = command.length > LONGEST_SHOWN ? ` (${command.length} characters; this is the beginning)` : ''
  const run = `Run ${quote(command, LONGEST_SHOWN)}${rest}${cwd === undefined ? '' : ` in ${quote(cwd, 200)}`}`
  return sandbox.kind === 'bwrap'
    ? `${run}, in the sandbox?`
    : `There is no sandbox: ${sandbox.why}. A command can read and change everything that this user can. ${run}?`
}

function confinementText({ commands: { sandbox, network } }: CommandContext): string {
  if (sandbox.kind === 'none')
    return `There is no sandbox: ${sandbox.why}. So it reaches all files of this user and the network; stay inside the working folder.`
  return `It runs in a sandbox: it can write to the working folder and to a private /tmp that is empty each time, ${network ? 'and it has network access' : 'and it has no network'}.`
}

function checkCommand(command: string): void {
  if (command.includes('\0')) throw new Error('The command contains a NUL character. Remove it.')
  const length = Buffer.byteLength(command)
  if (length > LONGEST_COMMAND_BYTES)
    throw new Error(
      `The command has ${length} bytes, and at most ${LONGEST_COMMAND_BYTES} can be run. Write a script with write_to_file, and run that.`,
    )
}

async function execute(
  context: CommandContext,
  { command, cwd = '.', timeout_ms: timeoutMs = DEFAULT_TIMEOUT_MS }: CommandInput,
  { artifacts, callId, progress, signal }: ToolContext,
): Promise<CommandResult> {
  if (process.platform === 'win32') throw new Error('Commands need a POSIX shell, so not Windows itself.')
  checkCommand(command)
  const { path, kind } = await context.workspace.locate(cwd)
  if (kind !== 'folder') throw new Error(`cwd: ${quote(cwd)} is no folder. Give a folder that exists.`)
  const output = new CommandOutput({ artifacts, artifactId: `command-output.${callId}`, progress })
  const end = await inPlace(context, { command, start: join(context.workspace.root, path) }, (place) =>
    runProcess({
      ...place,
      timeoutMs,
      signal,
      onOutput: (stream, bytes) => output.add(stream, bytes),
    }),
  )
  return resultOf({ context, end, output: await output.end(), timeoutMs })
}

type Place = Pick<Parameters<typeof runProcess>[0], 'file' | 'args' | 'cwd' | 'env' | 'keepsLeader'>

interface Start {
  readonly command: string
  readonly start: string
}

/** Sets up the sandbox, or a home folder where there is none, for one command. */
async function inPlace<T>(
  { workspace: { root }, commands: { sandbox, env } }: CommandContext,
  { command, start }: Start,
  work: (place: Place) => Promise<T>,
): Promise<T> {
  const [shell, ...args] = shellCommand(command, sandbox.kind === 'bwrap')
  if (sandbox.kind === 'bwrap') {
    const inside = commandEnvironment(env, { root, home: '/tmp' })
    const confined = [...sandbox.args(start), shell, ...args]
    return work({ file: sandbox.file, args: confined, cwd: '/', env: inside, keepsLeader: true })
  }
  const home = await mkdtemp(join(tmpdir(), 'holdfast-command-'))
  try {
    const outside = commandEnvironment(env, { root, home })
    return await work({ file: shell, args, cwd: start, env: outside, keepsLeader: false })
  } finally {
    await rm(home, { recursive: true, force: true }).catch(() => {})
  }
}

interface Ended {
  readonly context: CommandContext
  readonly end: ProcessEnd
  readonly output: OutputEnd
  readonly timeoutMs: number
}

function resultOf({ context, end, output, timeoutMs }: Ended): CommandResult {
  const { sandbox } = context.commands
  const { exitCode, signal, stopped, isHeld } = end
  const { stdout, stderr, artifact } = output
  const notes = [
    ...(stopped === 'timeout' ? [`It was killed after ${timeoutMs} ms. It may have done a part.`] : []),
    ...(stopped === 'cancelled' ? ['It was cancelled and killed. It may have done a part.'] : []),
    ...(exitCode === null ? [] : signalNote(exitCode)),
    ...(isHeld ? ['A process that it started still runs and holds its output open.'] : []),
    ...(sandbox.kind === 'none' ? [`It ran without a sandbox: ${sandbox.why}.`] : []),
    ...output.notes,
  ]
  return {
    exitCode,
    signal,
    stdout,
    stderr,
    sandbox: sandbox.kind,
    ...(stopped === undefined ? {} : { stopped }),
    ...(artifact === undefined ? {} : { artifact }),
    ...(notes.length === 0 ? {} : { notes }),
  }
}

/** Shells report a signal as 128 + its number. */
function signalNote(exitCode: number): readonly string[] {
  const name = Object.entries(constants.signals).find(([, number]) => number === exitCode - 128)?.[0]
  return name === undefined ? [] : [`Exit code ${exitCode} is how a shell reports ${name}.`]
}

function displayOf({ command }: CommandInput, result: CommandResult): string {
  const { exitCode, signal, stdout, stderr, notes = [] } = result
  const end = exitCode === 0 ? [] : [exitCode === null ? `[${signal}]` : `[exit code ${exitCode}]`]
  return [`$ ${command}`, stdout.trimEnd(), stderr.trimEnd(), ...end, ...notes.map((note) => `[${note}]`)]
    .filter((line) => line !== '')
    .join('\n')
}
