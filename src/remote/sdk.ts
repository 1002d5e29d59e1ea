/** The client of `@a2a-js/sdk`, an optional peer, loaded when a remote agent is called. */
import type * as sdkModule from '@a2a-js/sdk'
import type * as clientModule from '@a2a-js/sdk/client'
import type * as errorsModule from '@a2a-js/sdk/errors'
import { optionalPackage } from '../protocol/index.ts'

export type RemoteSdk = typeof sdkModule & typeof clientModule & typeof errorsModule

export async function remoteSdk(): Promise<RemoteSdk> {
  const [sdk, client, errors] = await optionalPackage('@a2a-js/sdk', 'remoteAgent()', () =>
    Promise.all([import('@a2a-js/sdk'), import('@a2a-js/sdk/client'), import('@a2a-js/sdk/errors')]),
  )
  return { ...sdk, ...client, ...errors }
}
