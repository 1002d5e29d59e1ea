/** For drivers without callers. */
import type { PendingWork } from '../../src/drive/driver-options.ts'

export const NO_PENDING_WORK: PendingWork = {
  isEmpty: true,
  continuing: undefined,
  carry: () => [],
  stored: () => {},
  returned: () => {},
  postQueued: async () => {},
}
