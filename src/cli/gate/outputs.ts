/**
 * The gate: the two streams of the process, and everything that could print around them. Nothing else in the terminal
 * may touch a stream; `npm run check` refuses it.
 */

import {
  type ColourOptions,
  dim,
  Output,
  type OutputStream,
  type Styled,
  styled,
  wantsColour,
} from 'holdfast/terminal'
import { EXIT } from '../exit-code.ts'
import { Refusal } from '../refusal.ts'
import { isDebugging } from './debugging.ts'
import { ForeignText } from './foreign.ts'

/** Every stream that the terminal prints to. */
export const STREAMS = ['stdout', 'stderr'] as const

export type Streams = Readonly<Record<(typeof STREAMS)[number], OutputStream>>

export interface Outputs {
  readonly out: Output
  readonly err: Output
  readonly foreign: ForeignText
}

export function openOutputs({ stdout, stderr }: Streams, options: ColourOptions): Outputs {
  const out = new Output(stdout, wantsColour(stdout.isTTY === true, options))
  const err = new Output(stderr, wantsColour(stderr.isTTY === true, options))
  const foreign = new ForeignText((line) => err.write(styled`${err.isTTY ? FOREIGN : ''}${line}\n`))
  return { out, err, foreign }
}

/** The prefix of lines that neither the terminal nor the model wrote. */
export const FOREIGN: Styled = dim('¦ ')

/** The outputs of this process. From now on all other writes to its streams are foreign text, warnings included. */
export function takeProcess(options: ColourOptions): Outputs {
  for (const name of STREAMS) process[name].on('error', ignoreLostReader)
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

/** Nobody reads any more: a pipe was closed, or the terminal was, for which SIGHUP comes as well. */
function ignoreLostReader(this: { readonly isTTY?: boolean }, error: NodeJS.ErrnoException): void {
  const isLost = error.code === 'EPIPE' || (error.code === 'EIO' && this.isTTY === true)
  if (isLost) return
  throw new Refusal(`The output cannot be written: ${error.message}.`, {
    exitCode: EXIT.failed,
    code: 'unexpected',
    cause: error,
  })
}

/** Warnings of Node about intended features: types in a config, its own SQLite. */
function isExpected(warning: Error & { readonly code?: string }): boolean {
  return warning.name === 'ExperimentalWarning' || warning.code === 'MODULE_TYPELESS_PACKAGE_JSON'
}
