/** The preview of a call for the person who approves it: bounded in time and size, redacted. Never rejects. */
import { debugThrown, type Timer } from '../base/index.ts'
import type { JsonObject } from '../protocol/index.ts'
import type { Redactor } from './redact.ts'
import { thrown } from './thrown.ts'
import type { Tool } from './tool.ts'

/** A longer preview is not waited for. */
const LONGEST_MS = 5000
/** Characters of a preview that are kept. */
const MOST_CHARACTERS = 30_000

export interface PreviewRun {
  readonly tool: Tool
  readonly input: unknown
  readonly timer: Timer
  readonly signal: AbortSignal
  readonly secrets: Redactor
}

/** `{ text }`, with `cut` if it is only the beginning, or `{ error }`. Undefined for a tool without a preview. */
export async function previewOf({ tool, input, ...run }: PreviewRun): Promise<JsonObject | undefined> {
  const { preview } = tool
  if (preview === undefined) return undefined
  const over = new AbortController()
  const late = Promise.withResolvers<never>()
  const inTime = run.timer.after(LONGEST_MS, () => {
    over.abort()
    late.reject(new Error(`it took longer than ${LONGEST_MS / 1000} seconds`))
  })
  try {
    const signal = AbortSignal.any([run.signal, over.signal])
    const working = async (): Promise<unknown> => preview(input, { signal })
    const made = await Promise.race([working(), late.promise])
    if (typeof made !== 'string') throw new TypeError('it must return a text')
    return cutPreview(run.secrets.text(made.toWellFormed()))
  } catch (error) {
    debugThrown(`The function preview of the tool ${tool.name}`, error)
    return { error: `The preview failed: ${thrown(error, run.secrets, 'It').error}` }
  } finally {
    inTime()
  }
}

function cutPreview(text: string): JsonObject {
  if (text.length <= MOST_CHARACTERS) return { text }
  return { text: text.slice(0, MOST_CHARACTERS).toWellFormed(), cut: true }
}
