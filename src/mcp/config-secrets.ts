/** The secrets in the config of a server, which a server may repeat in results, errors and logs. */
import { Redactor, secretsInText } from '../tool/index.ts'
import type { ServerSettings } from './config.ts'

/** Names of variables, headers and parameters that hold secrets. Others hold paths and media types, which results need. */
const SECRET = /auth|cookie|credential|key|pass|secret|token/i

export function secretsOf({ target }: Pick<ServerSettings, 'target'>): Redactor {
  const named = target.kind === 'stdio' ? Object.entries(target.env) : ofHttp(target)
  const values = named.flatMap(([name, value]) => (SECRET.test(name) ? [value] : []))
  return Redactor.of(values.flatMap(secretsInText))
}

function ofHttp({
  url,
  headers,
}: {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}): readonly (readonly [string, string])[] {
  const { searchParams, password } = new URL(url)
  return [...Object.entries(headers), ...searchParams, ['password', decoded(password)] as const]
}

/** A password may have a `%` that begins no escape. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
