/** The memory store against the contract of the Store port. */
import { describe, test } from 'vitest'
import { type StoreHarness, storeContract, whySkipped } from '../../testing/index.ts'
import { memoryStore } from './index.ts'

const harness: StoreHarness = { open: async (options) => memoryStore(options) }

describe('the memory store', () => {
  test.for(storeContract)('$subject: $name', async (item, { expect, skip }) => {
    const reason = whySkipped(item, harness)
    skip(reason !== undefined, reason)
    await expect(item.run(harness)).resolves.toBeUndefined()
  })
})
