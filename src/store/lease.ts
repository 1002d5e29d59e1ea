/** Decides when ownership lapses (R1). Safety never depends on it: the epoch fences a driver that was wrongly passed over. */
import type { Liveness } from '../base/index.ts'
import type { Head, Lease } from './port.ts'

export interface LeaseJudge {
  readonly now: number
  readonly liveness: (driver: string) => Liveness
}

export function isLapsed(lease: Lease, judge: LeaseJudge): boolean {
  const age = judge.now - lease.renewedAt
  // A renewal more than a lease in the future means that the clock was set back; waiting for it could take for ever.
  return age >= lease.leaseMs || age < -lease.leaseMs || judge.liveness(lease.driver) === 'dead'
}

export function isOwned(head: Head, judge: LeaseJudge): boolean {
  return head.lease !== undefined && !isLapsed(head.lease, judge)
}

/** True if a driver would find work here (R6). */
export function isDue(head: Head, judge: LeaseJudge): boolean {
  if (head.status === 'erased' || isOwned(head, judge)) return false
  if (head.wakeAt !== undefined && head.wakeAt <= judge.now) return true
  if (head.status === 'paused') return false
  if (head.pending > 0) return true
  return head.status === 'running' && head.wakeAt === undefined
}
