/**
 * What a model says, piece by piece, without secrets. A secret may be split over two pieces, so the end of a piece that
 * could be the beginning of one is held back until the next piece of the same kind, or the end, tells.
 */
import type { ModelDelta } from '../model/index.ts'
import type { Redactor } from '../tool/index.ts'

export interface DeltaPipe {
  readonly push: (delta: ModelDelta) => void
  /** Tells what was held back. */
  readonly end: () => void
}

export function redactDeltas(secrets: Redactor, tell: (delta: ModelDelta) => void): DeltaPipe {
  if (secrets.isEmpty) return { push: tell, end: () => {} }
  const stream = secrets.stream()
  let last: ModelDelta | undefined
  let kind = ''
  const say = (text: string): void => {
    if (text !== '' && last !== undefined) tell({ ...last, text })
  }
  const end = (): void => say(stream.end())
  const push = (delta: ModelDelta): void => {
    if (kindOf(delta) !== kind) end()
    kind = kindOf(delta)
    last = delta.type === 'call.delta' ? { ...delta, tool: secrets.text(delta.tool) } : delta
    say(stream.push(delta.text))
  }
  return { push, end }
}

function kindOf(delta: ModelDelta): string {
  return delta.type === 'call.delta' ? `call ${delta.tool}` : delta.type
}
