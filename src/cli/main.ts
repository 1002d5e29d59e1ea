/** Runs the command of the arguments to its exit code. Every error ends here, as one message. */
import { readFileSync } from 'node:fs'
import { prose, red, styled } from 'holdfast/terminal'
import { type ParsedArguments, readArguments } from './arguments.ts'
import type { Command, CommandContext } from './command/context.ts'
import { EXIT } from './exit-code.ts'
import { isDebugging } from './gate/debugging.ts'
import { type Outputs, takeProcess } from './gate/outputs.ts'
import { COMMANDS, type CommandName, commandHelp, mainHelp, SHARED } from './help.ts'
import { outcomeLine } from './outcome-line.ts'
import { commandErrorOf, Refusal } from './refusal.ts'

/** Each is loaded on use, so that `--help` costs nothing. */
const LOADERS: Readonly<Record<CommandName, () => Promise<Command>>> = {
  chat: async () => (await import('./command/chat.ts')).chat,
  run: async () => (await import('./command/run.ts')).run,
  task: async () => (await import('./command/task.ts')).task,
  research: async () => (await import('./command/research.ts')).research,
  mcp: async () => (await import('./command/mcp.ts')).mcp,
  acp: async () => (await import('./command/acp.ts')).acp,
  sessions: async () => (await import('./command/sessions.ts')).sessions,
  show: async () => (await import('./command/show.ts')).show,
  state: async () => (await import('./command/state.ts')).state,
  trace: async () => (await import('./command/trace.ts')).trace,
  serve: async () => (await import('./command/serve.ts')).serve,
  erase: async () => (await import('./command/erase.ts')).erase,
}

/** The environment of a command: the process, or a test. */
export type CommandEnvironment = Outputs & Pick<CommandContext, 'cwd' | 'env' | 'stdin'>

/** Runs the process to its end. Handles that a config leaves open do not keep it alive. */
export async function start(): Promise<void> {
  const args = process.argv.slice(2)
  const outputs = takeProcess({ env: process.env, off: hasSwitch(args, 'no-color') })
  const environment: CommandEnvironment = {
    ...outputs,
    cwd: process.cwd(),
    env: process.env,
    stdin: process.stdin,
  }
  // Errors that a config or a tool throws outside of any await. The first one ends the process: there is one outcome.
  let failing: Promise<never> | undefined
  const fail = (thrown: unknown) => {
    environment.foreign.end()
    failing ??= report(thrown, args, environment).then((exitCode) => process.exit(exitCode))
  }
  process.on('uncaughtException', fail).on('unhandledRejection', fail)
  // Nothing is left that could end the command: Node alone would exit with 0.
  process.once('beforeExit', () => fail(unfinished()))
  const exitCode = await main(args, environment)
  environment.foreign.end()
  await Promise.all([environment.out.flushed(), environment.err.flushed()])
  // Such as that the output was not written.
  await failing
  process.exit(exitCode)
}

export async function main(args: readonly string[], environment: CommandEnvironment): Promise<number> {
  try {
    return await execute(await readArguments(args, COMMANDS, SHARED), environment)
  } catch (error) {
    return report(error, args, environment)
  }
}

async function execute(
  parsed: ParsedArguments<CommandName>,
  environment: CommandEnvironment,
): Promise<number> {
  const version = versionOf()
  const { command } = parsed
  if (parsed.has('version')) environment.out.write(styled`${version}\n`)
  else if (command === undefined || parsed.has('help'))
    environment.out.write(styled`${command === undefined ? mainHelp(version) : commandHelp(command)}\n`)
  else return (await LOADERS[command.name]())({ ...environment, args: parsed, version })
  return EXIT.done
}

function unfinished(): Refusal {
  return new Refusal(
    'The command ended before it was done: a tool or the config awaits a promise that never settles. Fix it; an open turn goes on with --continue.',
    { exitCode: EXIT.failed, code: 'unfinished' },
  )
}

async function report(
  error: unknown,
  args: readonly string[],
  { out, err, env }: CommandEnvironment,
): Promise<number> {
  const { code, message, exitCode } = await commandErrorOf(error)
  out.freshLine()
  err.write(styled`${red('holdfast:')} ${prose(message)}\n`)
  if (isDebugging(env) && error instanceof Error) err.write(prose(`${error.stack ?? ''}\n${causesOf(error)}`))
  const failure = { exitCode, status: 'failed', reason: 'failed', turn: 0, error: { code, message } }
  if (hasSwitch(args, 'json')) out.json(outcomeLine(failure))
  return exitCode
}

/** True if the option is there, even if the others are wrong. */
function hasSwitch(args: readonly string[], name: string): boolean {
  const end = args.indexOf('--')
  return args.slice(0, end < 0 ? args.length : end).includes(`--${name}`)
}

const MOST_CAUSES = 10

function causesOf({ cause }: Error, depth = 0): string {
  if (!(cause instanceof Error) || depth === MOST_CAUSES) return ''
  return `caused by ${cause.stack ?? cause.message}\n${causesOf(cause, depth + 1)}`
}

function versionOf(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
