/** Times, tokens, arguments and texts as short parts of a line. */
import type { Json, TraceUsage } from '../protocol/index.ts'

const MOST_TEXT = 200

/** A text in quotes, on one line. */
export function quoted(text: string, most: number = MOST_TEXT): string {
  return JSON.stringify(cut(text, most))
}

/** A value as JSON, on one line. */
export function jsonText(value: Json, most: number = MOST_TEXT): string {
  return cut(JSON.stringify(value) ?? '', most)
}

/** `answered: "Nantes"`, or `expired`. */
export function answerText(how: string, value: Json | undefined): string {
  return value === undefined ? how : `${how}: ${jsonText(value)}`
}

export function cut(text: string, most: number = MOST_TEXT): string {
  return text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`
}

export function spanText(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)}ms` : `${(ms / 1000).toFixed(1)}s`
}

/** `345 tokens, $0.0012`. */
export function usageText({ input_tokens, output_tokens, cost }: TraceUsage): string {
  const tokens = `${input_tokens + output_tokens} tokens`
  return cost === 0 ? tokens : `${tokens}, $${costText(cost)}`
}

/** Two digits that are not zero, for small amounts too. */
function costText(cost: number): string {
  return cost >= 1 ? cost.toFixed(2) : String(Number(cost.toPrecision(2)))
}
