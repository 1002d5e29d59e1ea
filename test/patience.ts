/**
 * How long a test waits for something that has to happen: far longer than it takes on the slowest machine, so that only
 * something that never happens fails. It is no measure of speed; speed is measured in bench/.
 */
export const PATIENCE_MS = 120_000
