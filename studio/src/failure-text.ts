/** The failure of a request in words for the person at the page. Pure. */
import { ClientError } from 'holdfast/client'

export function failureText(error: unknown): string {
  if (!(error instanceof ClientError)) return error instanceof Error ? error.message : String(error)
  // The words for programs name a key; the page keeps it.
  const { message } = error.cause instanceof Error ? error.cause : error
  const sentence = /[.!?]$/.test(message) ? message : `${message}.`
  return error.key === undefined
    ? sentence
    : `${sentence} It may have arrived. Send it again: it counts once.`
}
