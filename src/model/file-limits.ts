/** How many pictures, and how much of files, vendors take in one request. What they document grows old: it has a date. */
import { type FileLimits, VENDORS, vendorNamed } from './vendors.ts'

/** The month in which these were the documented limits. */
export const FILE_LIMITS_AS_OF = '2026-11'

/** By the first word of a provider. Who is not here has no limit that is known: what runs elsewhere sets its own. */
export const FILE_LIMITS: Readonly<Record<string, FileLimits>> = Object.fromEntries(
  VENDORS.flatMap(({ name, files }) => (files === undefined ? [] : [[name, files]])),
)

export function fileLimitsOf(provider: string): FileLimits | undefined {
  const [vendor = ''] = provider.split('.')
  return vendorNamed(vendor)?.files
}
