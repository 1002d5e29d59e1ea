/** The secrets that models are asked with: what they say of a failure may quote them (R19). */
import { secretsOf } from '../tool/index.ts'
import type { ModelSource } from './definition.ts'

export function modelSecrets(models: readonly ModelSource[]): readonly string[] {
  const settings = models.map(({ settings: { apiKey, headers = {} } }) => {
    const values = Object.values(headers)
    // `Bearer` and such are no part of a secret.
    return [apiKey, values, values.join(' ').split(/\s+/)]
  })
  return secretsOf({ settings })
}
