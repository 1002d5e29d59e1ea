/** Loads the package of the protocol when it is needed, and names the command if it is missing. */
import type * as coreModule from '@a2a-js/sdk'
import type * as legacyModule from '@a2a-js/sdk/compat/v0_3/server'
import type * as errorsModule from '@a2a-js/sdk/errors'
import type * as serverModule from '@a2a-js/sdk/server'
import { HoldfastError } from '../../protocol/index.ts'

export interface Sdk {
  readonly core: typeof coreModule
  readonly server: typeof serverModule
  readonly errors: typeof errorsModule
  readonly legacy: typeof legacyModule
}

const NAME = '@a2a-js/sdk'

export async function loadSdk(): Promise<Sdk> {
  try {
    const [core, server, errors, legacy] = await Promise.all([
      import('@a2a-js/sdk'),
      import('@a2a-js/sdk/server'),
      import('@a2a-js/sdk/errors'),
      import('@a2a-js/sdk/compat/v0_3/server'),
    ])
    return { core, server, errors, legacy }
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new HoldfastError('missing-package', {
      message: `holdfast/a2a needs the package ${NAME}, which is not installed: npm install ${NAME}`,
      details: { package: NAME },
      cause,
    })
  }
}
