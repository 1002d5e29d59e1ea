/** The input of a call as text, where JSON cannot carry it. */
import { inspect } from 'node:util'

/** In one line. Runs no code of the value; inputs that differ in what is left out have the same text. */
export function shownInput(input: unknown): string {
  return inspect(input, SHOWN)
}

const SHOWN = {
  ...{ depth: 50, maxArrayLength: 10_000, maxStringLength: 100_000 },
  ...{ breakLength: Number.POSITIVE_INFINITY, compact: true, sorted: true, customInspect: false },
}
