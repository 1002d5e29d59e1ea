/**
 * Ends this process at once, as a power cut would: nothing is flushed, no handler runs, nothing that was about to happen
 * still happens. For tests that cut an effect in two, in a process of its own.
 *
 * @example
 * appendFileSync(log, 'begin\n')
 * if (process.env['CUT'] === 'during') killSelf()
 * appendFileSync(log, 'end\n')
 */
export function killSelf(): never {
  process.kill(process.pid, 'SIGKILL')
  // The signal may be delivered a moment later, and must find nothing done in between.
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}
