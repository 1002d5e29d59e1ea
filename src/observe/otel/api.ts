/** The package @opentelemetry/api, an optional peer: loaded when it is needed, and synchronously. */
import { createRequire } from 'node:module'
import type * as Otel from '@opentelemetry/api'
import { HoldfastError } from '../../protocol/index.ts'

export type Api = typeof Otel

const NAME = '@opentelemetry/api'

/** All copies of the package share their state through a global, so the module format does not matter. */
export function loadApi(load: (name: string) => unknown = createRequire(import.meta.url)): Api {
  try {
    return load(NAME) as Api
  } catch (cause) {
    if ((cause as { readonly code?: unknown }).code !== 'MODULE_NOT_FOUND') throw cause
    throw new HoldfastError('missing-package', {
      message: `otel() needs the package ${NAME}, which is not installed: npm install ${NAME}`,
      details: { package: NAME },
      cause,
    })
  }
}
