/** `holdfast/http`: a host over HTTP, as a fetch handler. */

export type { Authenticate, AuthScheme, Caller } from '../caller.ts'
export type { Mount, MountCall, MountRoute, MountServer } from '../mount.ts'
export type { OpenStream } from '../open-streams.ts'
export type { Problem } from '../problem.ts'
export type { AccessLine, HttpOptions, HttpServer } from './app.ts'
export { createHttp } from './app.ts'
export type { ApiKey, BearerOptions } from './authenticate.ts'
export { apiKeyAuth, bearerAuth } from './authenticate.ts'
export type { HttpListener, ListenOptions } from './listen.ts'
export { listen } from './listen.ts'
