/**
 * The contract of the Store port as cases that any store can be run against, with any test runner:
 *
 *     for (const item of storeContract) {
 *       const reason = whySkipped(item, harness)
 *       if (reason === undefined) test(item.name, () => item.run(harness))
 *       else test.skip(`${item.name}: ${reason}`)
 *     }
 */
import { appendCases } from './append.ts'
import { blobCases } from './blobs.ts'
import { closingCases } from './closing.ts'
import type { ContractCase } from './contract.ts'
import { derivedCases } from './derived.ts'
import { eraseCases } from './erase.ts'
import { faultCases } from './faults.ts'
import { forkCases } from './fork.ts'
import { headCases } from './heads.ts'
import { inboxCases } from './inbox.ts'
import { isolationCases } from './isolation.ts'
import { listingCases } from './listing.ts'
import { ownershipCases } from './ownership.ts'
import { processCases } from './processes.ts'
import { pruneCases } from './prune.ts'
import { readingCases } from './reading.ts'
import { recreateCases } from './recreate.ts'
import { snapshotCases } from './snapshots.ts'
import { watchCases } from './watching.ts'

export type { ContractCase, Need } from './contract.ts'
export { whySkipped } from './contract.ts'
export type { OpenOptions, StoreDamage, StoreHarness, StoreWorker } from './harness.ts'

export const storeContract: readonly ContractCase[] = [
  ...appendCases,
  ...ownershipCases,
  ...inboxCases,
  ...readingCases,
  ...watchCases,
  ...listingCases,
  ...blobCases,
  ...snapshotCases,
  ...derivedCases,
  ...forkCases,
  ...pruneCases,
  ...eraseCases,
  ...recreateCases,
  ...isolationCases,
  ...closingCases,
  ...headCases,
  ...faultCases,
  ...processCases,
]
