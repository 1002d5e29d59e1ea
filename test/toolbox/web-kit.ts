/** A local server that plays the whole internet, and a connector that dials it alone and records what it was to dial. */
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect as netConnect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { ConnectAddress, GuardedFetchOptions } from '../../src/toolbox/index.ts'
import { CERTIFICATE, KEY } from './certificate.ts'

export const PUBLIC = '93.184.216.34'

export interface Internet {
  readonly web: Required<Pick<GuardedFetchOptions, 'resolve' | 'connect'>>
  /** Every address and port that a connection was asked for. */
  readonly dialled: string[]
  /** Every name that was resolved. */
  readonly asked: string[]
  readonly port: number
}

/** Serves all hosts and ports in plain HTTP, or with the certificate of secure.example. */
export async function internet(
  listener: RequestListener,
  { secure = false, answers = {} }: { secure?: boolean; answers?: Record<string, readonly string[]> } = {},
): Promise<Internet> {
  const server: Server = secure
    ? createSecureServer({ cert: CERTIFICATE, key: KEY }, listener)
    : createServer({ keepAliveTimeout: 1 }, listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { ...network(port, answers), port }
}

/** Names resolve as in `answers`, others to a public address. Without a port nothing is dialled at all. */
export function network(
  port: number | undefined,
  answers: Record<string, readonly string[]> = {},
): Omit<Internet, 'port'> {
  const [dialled, asked]: [string[], string[]] = [[], []]
  const connect: ConnectAddress = ({ addresses, port: to, signal }) => {
    dialled.push(...addresses.map((address) => `${address} ${to}`))
    return port === undefined ? Promise.reject(new Error('offline')) : dial(port, signal)
  }
  const resolve = (host: string): Promise<readonly string[]> => {
    asked.push(host)
    return Promise.resolve(answers[host] ?? [PUBLIC])
  }
  return { dialled, asked, web: { connect, resolve } }
}

function dial(port: number, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = netConnect({ host: '127.0.0.1', port, signal })
    socket.once('connect', () => resolve(socket))
    socket.on('error', reject)
  })
}
