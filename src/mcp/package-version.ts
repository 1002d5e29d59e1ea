/** The version of this package, by which servers know their client. */
import { readFileSync } from 'node:fs'

/** `unknown` in a bundle, which has no manifest beside it. */
export function packageVersion(): string {
  try {
    const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
    const { name, version } = JSON.parse(manifest) as { readonly name?: unknown; readonly version?: unknown }
    return name === 'holdfast' && typeof version === 'string' ? version : 'unknown'
  } catch {
    return 'unknown'
  }
}
