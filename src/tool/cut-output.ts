/** The beginning of an output that is too large to store, with a notice for its reader. */
import { defined, type Json, type SettledStatus } from '../protocol/index.ts'

const SHOWN = 2000

export interface CutOutput {
  readonly status: SettledStatus
  readonly output: Json
  readonly bytes: number
  /** How many bytes would have been stored, if known. */
  readonly limit?: number | undefined
}

export function cutOutput({ status, output, bytes, limit }: CutOutput): Json {
  const most = limit === undefined ? 'more than can be stored' : `and at most ${limit} can be stored`
  return {
    notice: `${HOW[status] ?? 'The call came to an end.'} Its result has ${bytes} bytes, ${most}: only its beginning was kept. To see more, ask for less at a time.`,
    bytes,
    ...defined({ limit }),
    beginning: JSON.stringify(output).slice(0, SHOWN).toWellFormed(),
  }
}

const HOW: { readonly [S in SettledStatus]?: string } = {
  ok: 'The call went well. Do not repeat it.',
  error: 'The call failed.',
}
