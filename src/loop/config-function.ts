/** Calls the functions of a config: an exception fails the turn under the option's name. */
import { isPromise, type MaybePromise } from '../base/index.ts'
import { HoldfastError } from '../protocol/index.ts'
import { thrownText } from '../tool/index.ts'

/** Fails with `option-failed`, whatever the function throws: only the author of the config can repair it. */
export function callConfig<T>(option: string, call: () => MaybePromise<T>): MaybePromise<T> {
  const fail = (cause: unknown): never => {
    throw optionFailed(option, cause)
  }
  try {
    const value = call()
    return isPromise(value) ? Promise.resolve(value).catch(fail) : value
  } catch (cause) {
    return fail(cause)
  }
}

export function optionFailed(option: string, cause: unknown): HoldfastError {
  return new HoldfastError('option-failed', {
    message: `The function ${option} failed: ${thrownText(cause)}`,
    details: { option },
    cause,
  })
}
