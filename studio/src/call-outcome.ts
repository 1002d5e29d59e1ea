/** The outcome of a call in words. Pure. */
import type { CallItem } from './conversation-view.ts'
import { reasonText } from './visible-text.ts'

const UNKNOWN = 'It was started, and nobody knows whether it took effect.'

/** The reason of a call that came to nothing, or whose outcome is unknown; undefined for any other. */
export function problemText({
  status,
  output,
  display,
}: Pick<CallItem, 'status' | 'output' | 'display'>): string | undefined {
  if (status === 'unknown') return output === undefined || output === null ? UNKNOWN : reasonText(output)
  if (status === 'rejected' || status === 'error' || status === 'not-run')
    return reasonText(display ?? output)
  return undefined
}
