/** The secrets of model requests: keys, headers, passwords in addresses. Providers may quote them (R19). */
import { keyVariableOf } from '../model/index.ts'
import { NO_SECRETS, Redactor, type Secret, secretsInText } from '../tool/index.ts'
import type { ModelSource } from './definition.ts'

export function modelSecrets(models: readonly ModelSource[]): Redactor {
  return models.reduce((all, source) => all.with(secretsOf(source)), NO_SECRETS)
}

interface Known {
  readonly key: string | undefined
  readonly secrets: Redactor
}

const KNOWN = new WeakMap<ModelSource, Known>()

function secretsOf(source: ModelSource): Redactor {
  const variable = keyVariableOf(source.name)
  const key = variable === undefined ? undefined : process.env[variable]
  let known = KNOWN.get(source)
  // A missing key may be there the next time.
  if (known === undefined || known.key !== key) {
    known = { key, secrets: redactorFor(source, key) }
    KNOWN.set(source, known)
  }
  return known.secrets
}

/** Headers without secrets, whose values occur everywhere. */
const HARMLESS =
  /^(accept.*|content-.*|user-agent|origin|(http-)?referer|host|x-title|.*-(version|beta|organization|project))$/i

function redactorFor({ settings }: ModelSource, key: string | undefined): Redactor {
  const { apiKey, headers = {}, baseURL } = settings
  const values = Object.entries(headers).flatMap(([name, value]) => (HARMLESS.test(name) ? [] : [value]))
  const texts = [key, apiKey, ...values].filter((text) => typeof text === 'string')
  const secrets: Secret[] = texts.flatMap(secretsInText)
  // An address is no secret; a password in it is.
  if (typeof baseURL === 'string')
    secrets.push(...secretsInText(baseURL).filter(({ value }) => value !== baseURL))
  return Redactor.of(secrets)
}
