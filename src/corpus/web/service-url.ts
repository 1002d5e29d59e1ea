/** The address of a vendor's service, from an option. A wrong one is not shown: it may have a password in it. */
import { invalidOption } from '../../protocol/index.ts'

export function serviceUrl(text: unknown): URL {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined
  if (url !== undefined && ['http:', 'https:'].includes(url.protocol)) return url
  throw invalidOption('url', "must be an address such as 'http://localhost:8080'")
}
