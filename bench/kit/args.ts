/** Parses flags; a mistake is reported in a sentence, without a stack. */
export function orExplain<T>(parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    console.error(`${(error as Error).message} See --help.`)
    return process.exit(1)
  }
}

export interface Whole {
  readonly least: number
  /** The value must be a multiple of this. */
  readonly step?: number
}

/** The whole number that a flag was given, 0 for none of it; undefined, and said so, if it is neither. */
export function wholeNumber(flag: string, text: string, { least, step = 1 }: Whole): number | undefined {
  const number = text.trim() === '' ? Number.NaN : Number(text)
  if (Number.isSafeInteger(number) && (number === 0 || number >= least) && number % step === 0) return number
  const what = step === 1 ? 'a whole number' : `a multiple of ${step}`
  console.error(`--${flag} must be 0 or ${what} from ${Math.max(1, least)} on, not ${text}.`)
  process.exitCode = 1
  return undefined
}
