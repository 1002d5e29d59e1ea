/** Why a command was not carried out, as one message for people and one exit code for scripts. */
import { EXIT } from './exit-code.ts'

/** A command that cannot be carried out. The message says what to do next. */
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

/** The config file, or what it names, is wrong. */
export function unusable(message: string, cause?: unknown): Refusal {
  return new Refusal(message, { exitCode: EXIT.unusable, code: 'config', cause })
}

export interface Trouble {
  readonly code: string
  readonly message: string
  readonly exitCode: number
}

/** Any error in these words. What nobody foresaw has its stack shown only to those who ask for it. */
export async function troubleOf(error: unknown): Promise<Trouble> {
  if (error instanceof Refusal) return { code: error.code, message: error.message, exitCode: error.exitCode }
  // Loaded here, because most refusals come before anything else is.
  const { HoldfastError } = await import('holdfast')
  if (HoldfastError.is(error))
    return { code: error.code, message: error.message, exitCode: exitCodeFor(error.code) }
  const message = error instanceof Error ? error.message : String(error)
  return {
    code: 'unexpected',
    message: `${message} (unexpected; HOLDFAST_DEBUG=1 shows where)`,
    exitCode: EXIT.failed,
  }
}

/** Codes of errors that no other message would have helped against: something around the command has to change. */
const UNUSABLE: ReadonlySet<string> = new Set(['unknown-model', 'missing-key', 'missing-package'])

export function exitCodeFor(code: string): number {
  if (code === 'invalid-key') return EXIT.usage
  return UNUSABLE.has(code) || code.startsWith('store-') ? EXIT.unusable : EXIT.failed
}
