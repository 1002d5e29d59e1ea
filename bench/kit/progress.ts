/** Prints progress on stderr, so that results can be piped. */

/** On a terminal one line that moves; elsewhere a line for every tenth. */
export function progressBar(what: string, goal: number): (done: number) => void {
  let shown = 0
  return (done) => {
    const tenths = Math.floor((10 * done) / goal)
    const text = `${done.toLocaleString('en-US')} of ${goal.toLocaleString('en-US')} ${what}`
    if (process.stderr.isTTY) {
      process.stderr.write(`\r${text}${done >= goal ? `\r${' '.repeat(text.length)}\r` : ''}`)
    } else if (tenths > shown) {
      process.stderr.write(`${text}\n`)
    }
    shown = tenths
  }
}
