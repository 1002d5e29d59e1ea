/** Time as a port, so that replay is possible and tests are exact. */
export interface Clock {
  /** Wall-clock milliseconds since 1970. May jump in both directions. */
  now(): number
  /** Milliseconds from an arbitrary start. Never goes back; the one to measure durations with. */
  elapsed(): number
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
}
