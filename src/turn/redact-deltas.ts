/**
 * Redacts a model's deltas. A secret may span two deltas, so an end that may begin one is buffered until the next delta
 * of the same kind, or the end.
 */
import type { ModelDelta } from '../model/index.ts'
import type { Redactor } from '../tool/index.ts'
import type { TurnRun } from './turn-run.ts'
import type { WireIds } from './wire-ids.ts'

export interface DeltaPipe {
  readonly push: (delta: ModelDelta) => void
  /** Emits the buffered rest. */
  readonly end: () => void
}

function redactDeltas(secrets: Redactor, emit: (delta: ModelDelta) => void): DeltaPipe {
  if (secrets.isEmpty) return { push: emit, end: () => {} }
  const stream = secrets.stream()
  let last: ModelDelta | undefined
  let kind = ''
  const emitText = (text: string): void => {
    if (text !== '' && last !== undefined) emit({ ...last, text })
  }
  const end = (): void => emitText(stream.end())
  const push = (delta: ModelDelta): void => {
    if (kindOf(delta) !== kind) end()
    kind = kindOf(delta)
    last = delta.type === 'call.delta' ? { ...delta, tool: secrets.text(delta.tool) } : delta
    emitText(stream.push(delta.text))
  }
  return { push, end }
}

function kindOf(delta: ModelDelta): string {
  return delta.type === 'call.delta' ? `call ${delta.callId}` : delta.type
}

/** Emits the deltas of a reply, without secrets and with ids as they are stored. */
export function deltaPipe(run: TurnRun, wire: WireIds): DeltaPipe {
  const { emit } = run.scope
  const safe = redactDeltas(run.secrets, (delta) => {
    const { type, text } = delta
    if (type === 'call.delta') emit(type, { callId: delta.callId, tool: delta.tool, text })
    else emit(type, { text })
  })
  const stored = wire.deltas(safe.push)
  const end = (): void => {
    stored.end()
    safe.end()
  }
  return { push: stored.push, end }
}
