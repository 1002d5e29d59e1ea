/** Drives a conversation by one effect, for a caller that has its own loop. */
import type { Clock } from '../base/index.ts'
import type { Driver } from './driver.ts'
import type { Pump } from './pump.ts'

/** `again`: there is more to do now. `at`: there may be more then. `done`: nothing until the next post. */
export type DriveResult =
  | { readonly state: 'again' }
  | { readonly state: 'at'; readonly time: number }
  | { readonly state: 'done' }

/** Steps up to one model call or one round of tools. */
export async function driveToEffect({
  driver,
  pump,
  clock,
  heartbeatMs,
}: {
  readonly driver: Driver
  readonly pump: Pump
  readonly clock: Clock
  readonly heartbeatMs: number
}): Promise<DriveResult> {
  for (;;) {
    if (pump.isHalted) return { state: 'done' }
    const isEffect = driver.next === 'model' || driver.next === 'tools'
    const progress = await driver.step()
    if (progress.state === 'again' && isEffect) return { state: 'again' }
    if (progress.state === 'idle')
      return progress.at === undefined ? { state: 'done' } : { state: 'at', time: progress.at }
    if (progress.state === 'owned') return { state: 'at', time: clock.now() + heartbeatMs }
    if (progress.state === 'paused') return { state: 'done' }
  }
}
