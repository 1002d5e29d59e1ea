/**
 * Ends this process at once, as a power cut would: nothing is flushed and no handler runs. For tests that interrupt an
 * effect, in a process of their own.
 *
 * @example
 * appendFileSync(log, 'begin\n')
 * if (process.env['CUT'] === 'during') killSelf()
 * appendFileSync(log, 'end\n')
 */
export function killSelf(): never {
  process.kill(process.pid, 'SIGKILL')
  // The signal may arrive a moment later, and no code may run until then.
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}
