/** Spans of time as people write them. */
import { HoldfastError, quote } from '../protocol/index.ts'

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/**
 * Milliseconds of `'7h'`, `'30m'`, `'2d'`, `'1h 30m'`, or of a number, which is milliseconds already. Infinity is
 * forever. Throws `invalid-option` for anything else, and for nothing.
 */
export function durationMs(span: string | number): number {
  const ms = typeof span === 'number' ? span : parsed(span)
  if (!(ms > 0)) {
    throw new HoldfastError('invalid-option', {
      message: `${typeof span === 'number' ? String(span) : quote(span)} is no span of time. Write '7h', '30m', '2d', or milliseconds above 0.`,
    })
  }
  return ms
}

function parsed(text: string): number {
  if (typeof text !== 'string') return Number.NaN
  if (!/^\s*(?:\d+(?:\.\d+)?\s*(?:ms|[smhdw])\s*)+$/.test(text)) return Number.NaN
  const parts = text.matchAll(/(\d+(?:\.\d+)?)\s*(ms|[smhdw])/g)
  return [...parts].reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS[unit ?? ''] ?? 0), 0)
}
