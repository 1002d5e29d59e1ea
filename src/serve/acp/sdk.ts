/** Loads the package of the protocol when it is needed. */
import type * as acp from '@agentclientprotocol/sdk'
import { optionalPackage } from '../../protocol/index.ts'

export type AcpSdk = typeof acp

export function acpSdk(): Promise<AcpSdk> {
  return optionalPackage('@agentclientprotocol/sdk', 'holdfast/acp', () => import('@agentclientprotocol/sdk'))
}
