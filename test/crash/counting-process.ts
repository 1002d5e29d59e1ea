/** A process to be frozen: counts, and says each number; answers what it hears; complains if it is told to. */
export interface Counted {
  readonly count: number
}

if (process.send !== undefined) {
  let count = 0
  const counting = setInterval(() => process.send?.({ count: ++count }), 5)
  process.on('message', (message: unknown) => {
    if (message !== 'leave') {
      process.send?.({ heard: message, args: process.argv.slice(2), env: process.env['FIXTURE'] })
      return
    }
    clearInterval(counting)
    process.stderr.write('I was told to leave', () => process.exit(3))
  })
}
