/**
 * Redacts a model's deltas. A secret may span two deltas, so an end that may begin one is buffered until the next delta
 * of the same kind, or the end: calls may be streamed side by side.
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

export function redactDeltas(secrets: Redactor, emit: (delta: ModelDelta) => void): DeltaPipe {
  if (secrets.isEmpty) return { push: emit, end: () => {} }
  const streams = new Map<string, { readonly text: ReturnType<Redactor['stream']>; last: ModelDelta }>()
  const emitText = (last: ModelDelta, text: string): void => {
    if (text !== '') emit({ ...last, text })
  }
  const push = (delta: ModelDelta): void => {
    const kind = kindOf(delta)
    const last = delta.type === 'call.delta' ? { ...delta, tool: secrets.text(delta.tool) } : delta
    const stream = streams.get(kind) ?? { text: secrets.stream(), last }
    streams.set(kind, stream)
    stream.last = last
    emitText(last, stream.text.push(delta.text))
  }
  const end = (): void => {
    // The reply may have been cut off inside a secret.
    for (const { text, last } of streams.values()) emitText(last, secrets.ended(text.end()))
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
