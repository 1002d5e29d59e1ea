/** The vendors' limits on images and files in one request, with the date of their documentation. */
import { type FileLimits, VENDORS, vendorNamed } from './vendors.ts'

/** The month in which these were the documented limits. */
export const FILE_LIMITS_AS_OF = '2026-11'

/** By the first segment of a provider. Absent vendors have no known limit: other endpoints set their own. */
export const FILE_LIMITS: Readonly<Record<string, FileLimits>> = Object.fromEntries(
  VENDORS.flatMap(({ name, files }) => (files === undefined ? [] : [[name, files]])),
)

export function fileLimitsOf(provider: string): FileLimits | undefined {
  const [vendor = ''] = provider.split('.')
  return vendorNamed(vendor)?.files
}
