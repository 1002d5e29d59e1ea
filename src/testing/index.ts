/** `holdfast/testing`: stand-ins, and the suites that ports must pass. Needs no test runner of its own. */
export { CountingIds } from './counting-ids.ts'
export { ManualClock } from './manual-clock.ts'
