/** From arguments to a command to an exit code. Every error ends here, as one message. */
import { readFileSync } from 'node:fs'
import { type CommandForm, type Given, readArguments } from './arguments.ts'
import type { Command, CommandContext } from './command/context.ts'
import { EXIT } from './exit-code.ts'
import { COMMANDS, commandHelp, mainHelp, SHARED } from './help.ts'
import { outcomeLine } from './outcome-line.ts'
import { troubleOf } from './refusal.ts'
import { styleFor, wantsColour } from './terminal/style.ts'

/** Each is loaded when it is wanted, so that `--help` costs nothing. */
const LOADERS: Readonly<Record<string, () => Promise<Command>>> = {
  chat: async () => (await import('./command/chat.ts')).chat,
  run: async () => (await import('./command/run.ts')).run,
  sessions: async () => (await import('./command/sessions.ts')).sessions,
  show: async () => (await import('./command/show.ts')).show,
  state: async () => (await import('./command/state.ts')).state,
  erase: async () => (await import('./command/erase.ts')).erase,
}

/** Runs the process to its end. What a config left open does not keep it alive. */
export async function start(): Promise<void> {
  if (!process.env['HOLDFAST_DEBUG']) silenceWarnings()
  for (const stream of [process.stdout, process.stderr]) stream.on('error', ignoreBrokenPipe)
  const args = process.argv.slice(2)
  // What a config or a tool throws where nobody waits for it. The first one ends the process: there is one outcome.
  let failing: Promise<never> | undefined
  const fail = (thrown: unknown) => {
    failing ??= report(thrown, args, undefined).then((exitCode) => process.exit(exitCode))
  }
  process.on('uncaughtException', fail).on('unhandledRejection', fail)
  const exitCode = await main(args)
  await Promise.all(
    [process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write('', done))),
  )
  process.exit(exitCode)
}

export async function main(args: readonly string[]): Promise<number> {
  let given: Given | undefined
  try {
    given = readArguments(args, COMMANDS, SHARED)
    return await carryOut(given)
  } catch (error) {
    return report(error, args, given)
  }
}

async function carryOut(given: Given): Promise<number> {
  const { stdin, stdout, stderr, env } = process
  const version = versionOf()
  const colours = { env, off: given.has('no-color') }
  const style = styleFor(wantsColour({ isTTY: stdout.isTTY, ...colours }))
  const { command } = given
  const load = command === undefined ? undefined : LOADERS[command.name]
  if (given.has('version')) stdout.write(`${version}\n`)
  else if (command === undefined || load === undefined || given.has('help'))
    stdout.write(`${helpFor(command, version, style)}\n`)
  else {
    const errorStyle = styleFor(wantsColour({ isTTY: stderr.isTTY, ...colours }))
    const context: CommandContext = {
      given,
      cwd: process.cwd(),
      env,
      stdin,
      stdout,
      stderr,
      style,
      errorStyle,
      version,
    }
    return (await load())(context)
  }
  return EXIT.done
}

function helpFor(command: CommandForm | undefined, version: string, style: CommandContext['style']): string {
  return command === undefined ? mainHelp(version, style) : commandHelp(command, style)
}

async function report(error: unknown, args: readonly string[], given: Given | undefined): Promise<number> {
  const { stdout, stderr, env } = process
  const { code, message, exitCode } = await troubleOf(error)
  const style = styleFor(wantsColour({ isTTY: stderr.isTTY, env, off: args.includes('--no-color') }))
  stderr.write(`${style.red('holdfast:')} ${message}\n`)
  if (env['HOLDFAST_DEBUG'] && error instanceof Error)
    stderr.write(`${error.stack ?? ''}\n${causesOf(error)}`)
  const isJson = given?.has('json') ?? args.includes('--json')
  const failure = { exitCode, status: 'failed', reason: 'failed', turn: 0, error: { code, message } }
  if (isJson) stdout.write(outcomeLine(failure))
  return exitCode
}

function causesOf({ cause }: Error): string {
  return cause instanceof Error ? `caused by ${cause.stack ?? cause.message}\n${causesOf(cause)}` : ''
}

function versionOf(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

/** Somebody has read enough. */
function ignoreBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}

/** Node warns of things that are as they should be here: types in a config, its own SQLite. */
function silenceWarnings(): void {
  const emit = process.emitWarning.bind(process) as (...args: unknown[]) => void
  process.emitWarning = (...args: unknown[]) => {
    const [warning, second, third] = args
    const options =
      typeof second === 'object' && second !== null ? (second as { type?: string; code?: string }) : {}
    const type = options.type ?? (typeof second === 'string' ? second : undefined)
    const code = options.code ?? (typeof third === 'string' ? third : undefined)
    const name = warning instanceof Error ? warning.name : type
    if (name === 'ExperimentalWarning' || code === 'MODULE_TYPELESS_PACKAGE_JSON') return
    emit(...args)
  }
}
