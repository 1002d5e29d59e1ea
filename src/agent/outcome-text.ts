/** The outcome of a turn as one text. */
import type { TurnOutcome } from '../drive/index.ts'
import { limitText } from '../protocol/index.ts'

export function outcomeText(outcome: TurnOutcome): string {
  const text = outcome.text || outcome.requests.map(({ prompt }) => prompt).join('\n')
  const { limit, stopped } = outcome
  if (stopped !== undefined) return `Task incomplete: ${stoppedText(stopped)}.\n${text}`.trim()
  if (limit === undefined) return text
  return `Task incomplete: maximum ${limitText(outcome)} reached.\n${text}`.trim()
}

function stoppedText({ by, reason }: NonNullable<TurnOutcome['stopped']>): string {
  return `stopped by ${by}${reason === undefined ? '' : ` (${reason})`}`
}
