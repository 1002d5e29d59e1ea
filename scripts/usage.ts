/** Prints the help of a command and ends the process, if `--help` or `-h` is among its arguments. */
export function helpIfAsked(help: string): void {
  if (!process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) return
  console.log(help)
  process.exit(0)
}
