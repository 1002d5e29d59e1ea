/** A mistake on the command line is answered with a sentence, not with a stack. */
export function orExplain<T>(parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    console.error(`${(error as Error).message} See --help.`)
    return process.exit(1)
  }
}
