/** Calls a function of the embedder that only gets a notice: what it throws or rejects with changes nothing here. */
import { debugThrown, isPromise } from '../base/index.ts'

/** `name`: of the option, for HOLDFAST_DEBUG. */
export function callEmbedder(name: string, call: () => unknown): void {
  const report = (error: unknown): void => debugThrown(`The function ${name}`, error)
  try {
    const result = call()
    if (isPromise(result)) result.then(undefined, report)
  } catch (error) {
    report(error)
  }
}
