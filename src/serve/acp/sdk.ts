/** Loads the package of the protocol when it is needed, and names the command if it is missing. */
import type * as acp from '@agentclientprotocol/sdk'
import { HoldfastError } from '../../protocol/index.ts'

export type AcpSdk = typeof acp

export async function acpSdk(): Promise<AcpSdk> {
  try {
    return await import('@agentclientprotocol/sdk')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new HoldfastError('missing-package', {
      message:
        'holdfast/acp needs the package @agentclientprotocol/sdk, which is not installed: npm install @agentclientprotocol/sdk',
      details: { package: '@agentclientprotocol/sdk' },
      cause,
    })
  }
}
