/** A call that was not run because an id in it was not good, and what the refusal says to do instead. */
import type { Json } from '../protocol/index.ts'
import type { Done } from './conversation.ts'

export interface Refusal {
  /** The parameter whose id was refused. */
  readonly path: string
  readonly entity: string
  readonly given: Json
  readonly reason: string
  readonly message: string
  readonly do: string
  readonly ids: readonly string[]
  /** The tool that finds things by their name. */
  readonly tool?: string
}

export function refusalOf({ output, failed }: Pick<Done, 'output' | 'failed'>): Refusal | undefined {
  if (!failed || !isRecord(output) || output['error'] !== 'ungrounded') return undefined
  const { path, entity, given, reason, message, next } = output
  if (typeof path !== 'string' || typeof entity !== 'string' || !isRecord(next)) return undefined
  const { do: advice, ids, tool } = next
  return {
    path,
    entity,
    given: given as Json,
    reason: String(reason),
    message: String(message),
    do: String(advice),
    ids: Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [],
    ...(typeof tool === 'string' ? { tool } : {}),
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
