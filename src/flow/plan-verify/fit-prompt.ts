/** Fits a system prompt into its part of the context: plans, answers, traces and feedback may be of any length. */
import type { TokenCounter } from '../../model/index.ts'
import { fitText } from '../fit-context.ts'
import type { PromptValues } from './prompts.ts'

export interface PromptRoom {
  readonly values: PromptValues
  /** The tokens of system prompt and messages together. */
  readonly most: number
  readonly counter: Pick<TokenCounter, 'text'>
}

/** The part of the room beside the fixed text that values may fill; the rest is for messages. */
const VALUES_PART = 0.6

/** Only the task stays whole: without it, nothing else makes sense. */
export function fitPrompt(
  render: (values: PromptValues) => string,
  { values, most, counter }: PromptRoom,
): string {
  const { task, ...others } = values
  const room = Math.max(0, most - counter.text(render({ task }))) * VALUES_PART
  const long = Object.entries(others).filter(([, text]) => text !== undefined && text !== '')
  // Short values leave their share to the longer ones.
  const sorted = long
    .map(([name, text = '']) => ({ name, text, tokens: counter.text(text) }))
    .toSorted((a, b) => a.tokens - b.tokens)
  const fitted: Record<string, string> = {}
  let left = room
  for (const [at, { name, text, tokens }] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - at))
    fitted[name] = tokens <= share ? text : fitText(text, share, counter)
    left -= Math.min(tokens, share)
  }
  return render({ ...fitted, task })
}
