/**
 * The gate: the two streams of the process, and everything that could print around them. Nothing else in the terminal
 * may touch a stream; `npm run check` refuses it.
 */
import { isDebugging } from './debugging.ts'
import { ForeignText } from './foreign.ts'
import { Output, type OutputStream } from './output.ts'
import { dim, type Styled, styled } from './styled.ts'

/** Every stream that the terminal prints to. */
export const STREAMS = ['stdout', 'stderr'] as const

export type Streams = Readonly<Record<(typeof STREAMS)[number], OutputStream>>

export interface Outputs {
  readonly out: Output
  readonly err: Output
  readonly foreign: ForeignText
}

export interface ColourOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  /** `--no-color`. */
  readonly off?: boolean
}

export function openOutputs({ stdout, stderr }: Streams, options: ColourOptions): Outputs {
  const out = new Output(stdout, wantsColour(stdout.isTTY === true, options))
  const err = new Output(stderr, wantsColour(stderr.isTTY === true, options))
  const foreign = new ForeignText((line) => err.write(styled`${err.isTTY ? FOREIGN : ''}${line}\n`))
  return { out, err, foreign }
}

/** The prefix of lines that neither the terminal nor the model wrote. */
export const FOREIGN: Styled = dim('¦ ')

/** `--no-color` decides first, then FORCE_COLOR, then NO_COLOR, then `isTTY`. */
export function wantsColour(isTTY: boolean, { env, off = false }: ColourOptions): boolean {
  if (off) return false
  const forced = env['FORCE_COLOR']
  if (forced !== undefined) return forced !== '0' && forced !== 'false'
  if (env['NO_COLOR']) return false
  return isTTY && env['TERM'] !== 'dumb'
}

/** The outputs of this process. From now on all other writes to its streams are foreign text, warnings included. */
export function takeProcess(options: ColourOptions): Outputs {
  for (const name of STREAMS) process[name].on('error', ignoreBrokenPipe)
  const outputs = openOutputs(process, options)
  for (const name of STREAMS) outputs.foreign.take(process[name])
  if (process.listenerCount('warning') > 0) {
    process.removeAllListeners('warning')
    process.on('warning', (warning) => {
      if (isDebugging(options.env) || !isExpected(warning))
        outputs.foreign.print(`${warning.name}: ${warning.message}`)
    })
  }
  return outputs
}

/** The reader of the pipe has closed it. */
function ignoreBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}

/** Warnings of Node about intended features: types in a config, its own SQLite. */
function isExpected(warning: Error & { readonly code?: string }): boolean {
  return warning.name === 'ExperimentalWarning' || warning.code === 'MODULE_TYPELESS_PACKAGE_JSON'
}
