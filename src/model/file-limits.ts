/** How many pictures, and how much of files, vendors take in one request. A table grows old: it has a date. */

/** The month in which these were the documented limits. */
export const FILE_LIMITS_AS_OF = '2026-11'

export interface FileLimits {
  /** Pictures of all messages of a request. */
  readonly images: number
  /** Characters of a whole request, as it is sent. */
  readonly chars: number
}

const MB = 1_000_000

/** By the first word of a provider. Who is not here has no limit that is known: what runs elsewhere sets its own. */
export const FILE_LIMITS: Readonly<Record<string, FileLimits>> = {
  // 100 for models that read 200,000 tokens, 600 for others; requests of 32 MB
  anthropic: { images: 100, chars: 32 * MB },
  // 1,500 and 512 MB at OpenAI itself; 500 and 50 MB is what was documented before and holds for older models
  openai: { images: 500, chars: 50 * MB },
  // 3,600 by the Gemini API, 3,000 by Vertex AI; 20 MB for a request with files inside
  google: { images: 3000, chars: 20 * MB },
}

export function fileLimitsOf(provider: string): FileLimits | undefined {
  const [vendor = ''] = provider.split('.')
  return Object.hasOwn(FILE_LIMITS, vendor) ? FILE_LIMITS[vendor] : undefined
}
