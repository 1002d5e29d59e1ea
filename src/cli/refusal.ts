/** Errors of commands: one message for people and one exit code for scripts. */
import { EXIT } from './exit-code.ts'

/** A command that cannot run. The message says what to do next. */
export class Refusal extends Error {
  readonly exitCode: number
  readonly code: string

  constructor(message: string, { exitCode, code, cause }: RefusalOptions) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'Refusal'
    this.exitCode = exitCode
    this.code = code
  }
}

interface RefusalOptions {
  readonly exitCode: number
  readonly code: string
  readonly cause?: unknown
}

/** The arguments are wrong. */
export function wrongUsage(message: string): Refusal {
  return new Refusal(message, { exitCode: EXIT.usage, code: 'usage' })
}

/** The config file, or a thing that it names, is wrong. */
export function unusable(message: string, cause?: unknown): Refusal {
  return new Refusal(message, { exitCode: EXIT.unusable, code: 'config', cause })
}

export interface CommandError {
  readonly code: string
  readonly message: string
  readonly exitCode: number
}

/** Any error as a message and an exit code. The stack of an unexpected one is shown only with HOLDFAST_DEBUG. */
export async function commandErrorOf(error: unknown): Promise<CommandError> {
  if (error instanceof Refusal) return { code: error.code, message: error.message, exitCode: error.exitCode }
  // Loaded late: most refusals happen before the package is needed.
  const { HoldfastError } = await import('holdfast')
  if (HoldfastError.is(error))
    return { code: error.code, message: failureText(error), exitCode: exitCodeFor(error.code) }
  const message = error instanceof Error ? error.message : String(error)
  return {
    code: 'unexpected',
    message: `${message} (unexpected; set HOLDFAST_DEBUG=1 for the stack)`,
    exitCode: EXIT.failed,
  }
}

/** An error as people in a terminal can act on it: the message of an erased id is for programs. */
export function failureText(error: Pick<CommandError, 'code' | 'message'> | undefined): string {
  if (error?.code === 'erased')
    return 'The conversation was erased, and its id stays refused. Begin another one: with --context and a new ID, or with /new in a chat.'
  return error?.message ?? 'The turn failed.'
}

/** Codes of errors in the environment of a command: another message would not help. */
const UNUSABLE: ReadonlySet<string> = new Set(['unknown-model', 'missing-key', 'missing-package'])

export function exitCodeFor(code: string): number {
  if (code === 'invalid-key') return EXIT.usage
  return UNUSABLE.has(code) || code.startsWith('store-') ? EXIT.unusable : EXIT.failed
}
