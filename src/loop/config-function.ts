/** Calls the functions that a config gives: what one throws fails the turn under its name, and nothing else is blamed. */
import { HoldfastError } from '../protocol/index.ts'
import { thrownText } from '../tool/index.ts'

/** Rejects with `option-failed`, whatever the function throws: nobody but the author of the config can repair it. */
export async function callConfig<T>(option: string, call: () => T | Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (cause) {
    throw optionFailed(option, cause)
  }
}

export function optionFailed(option: string, cause: unknown): HoldfastError {
  return new HoldfastError('option-failed', {
    message: `The function ${option} failed: ${thrownText(cause)}`,
    details: { option },
    cause,
  })
}
