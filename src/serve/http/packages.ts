/** Loads the optional packages of the server when they are needed. */
import type * as nodeServerModule from '@hono/node-server'
import type { Hono } from 'hono'
import type * as joseModule from 'jose'
import { optionalPackage } from '../../protocol/index.ts'

export async function newHono(): Promise<Hono> {
  const hono = await optionalPackage('hono', 'holdfast/http', () => import('hono'))
  return new hono.Hono({ strict: false })
}

export function jose(): Promise<typeof joseModule> {
  return optionalPackage('jose', 'bearerAuth()', () => import('jose'))
}

export function nodeServer(): Promise<typeof nodeServerModule> {
  return optionalPackage('@hono/node-server', 'listen()', () => import('@hono/node-server'))
}
