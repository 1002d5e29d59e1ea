/**
 * Files that a model cannot take. One that was just sent makes the call fail, so that the person knows; one of an earlier
 * message, which another model may have read, must not stand in the way for ever, and is only named.
 */
import type { PromptMessage, PromptPart } from './language-model.ts'

/** Does a package say that it cannot express the prompt? Nothing was sent then. */
export function isUnsupported(error: unknown): boolean {
  return error instanceof Error && error.name === 'AI_UnsupportedFunctionalityError'
}

/** The prompt with the files of earlier messages in words; undefined if there are none. */
export function withoutOldFiles(prompt: readonly PromptMessage[]): PromptMessage[] | undefined {
  const newest = prompt.findLastIndex(({ role }) => role === 'user')
  let found = false
  const changed = prompt.map((message, at) => {
    if (message.role !== 'user' || at === newest || !message.content.some(isFile)) return message
    found = true
    return { ...message, content: message.content.map((part) => (isFile(part) ? named(part) : part)) }
  })
  return found ? changed : undefined
}

function isFile({ type }: PromptPart): boolean {
  return type === 'file'
}

function named({ mediaType = 'of no known type', filename }: PromptPart): PromptPart {
  const name = filename === undefined ? '' : `, ${JSON.stringify(filename)}`
  return { type: 'text', text: `[A file (${mediaType}${name}) that you cannot read.]` }
}
