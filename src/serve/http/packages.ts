/** Loads the optional packages of the server when they are needed, and names the command if one is missing. */
import type { Hono } from 'hono'
import type * as joseModule from 'jose'
import { HoldfastError } from '../../protocol/index.ts'

export async function newHono(): Promise<Hono> {
  const hono = await installed('hono', () => import('hono'))
  return new hono.Hono({ strict: false })
}

export function jose(): Promise<typeof joseModule> {
  return installed('jose', () => import('jose'))
}

async function installed<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new HoldfastError('missing-package', {
      message: `holdfast/http needs the package ${name}, which is not installed: npm install ${name}`,
      details: { package: name },
      cause,
    })
  }
}
