/** The key of a vendor, from an option or the environment. No message shows a key, not even a wrong one. */
import { HoldfastError, invalidOption } from '../../protocol/index.ts'

export interface KeySource {
  /** The function in messages: `brave()`. */
  readonly place: string
  readonly variable: string
  /** The page where keys are made. */
  readonly page: string
}

export function apiKeyFrom(apiKey: unknown, { place, variable, page }: KeySource): string {
  const key = apiKey ?? process.env[variable]?.trim()
  if (key === undefined || key === '')
    throw new HoldfastError('missing-key', {
      message: `${place} needs a key: set ${variable} in the environment, or pass apiKey. Keys are made at ${page}.`,
      details: { variable },
    })
  // A header takes no other characters.
  if (typeof key === 'string' && /^[\x21-\x7e]+$/.test(key)) return key
  throw invalidOption('apiKey', `must be a key without spaces; copy it again from ${page}`)
}

export function keyPlace(apiKey: unknown, variable: string): string {
  return apiKey === undefined ? variable : 'apiKey'
}
