/** A mistake in the arguments of a command. */
export class UsageError extends Error {}

/**
 * Prints the help of a command and ends the process, if `--help` or `-h` is among its arguments. From then on a mistake in
 * the arguments is reported in a sentence, with exit code 2.
 */
export function helpIfAsked(help: string): void {
  process.once('uncaughtException', (error: NodeJS.ErrnoException) => {
    const isUsage = error instanceof UsageError || error.code?.startsWith('ERR_PARSE_ARGS') === true
    console.error(isUsage ? `${error.message}\nSee --help.` : error)
    process.exit(isUsage ? 2 : 1)
  })
  if (!process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) return
  console.log(help)
  process.exit(0)
}
