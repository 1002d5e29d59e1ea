/** Loads the package of the protocol when it is needed. */
import type * as coreModule from '@a2a-js/sdk'
import type * as legacyModule from '@a2a-js/sdk/compat/v0_3/server'
import type * as errorsModule from '@a2a-js/sdk/errors'
import type * as serverModule from '@a2a-js/sdk/server'
import { optionalPackage } from '../../protocol/index.ts'

export interface Sdk {
  readonly core: typeof coreModule
  readonly server: typeof serverModule
  readonly errors: typeof errorsModule
  readonly legacy: typeof legacyModule
}

export async function loadSdk(): Promise<Sdk> {
  const [core, server, errors, legacy] = await optionalPackage('@a2a-js/sdk', 'holdfast/a2a', () =>
    Promise.all([
      import('@a2a-js/sdk'),
      import('@a2a-js/sdk/server'),
      import('@a2a-js/sdk/errors'),
      import('@a2a-js/sdk/compat/v0_3/server'),
    ]),
  )
  return { core, server, errors, legacy }
}
