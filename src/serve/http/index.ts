/** `holdfast/http`: a host over HTTP, as a fetch handler. */
export type { HttpConnection } from './address.ts'
export type { AccessLine, HttpOptions, HttpServer } from './app.ts'
export { createHttp } from './app.ts'
export type { ApiKey, Authenticate, BearerOptions, Caller } from './caller.ts'
export { apiKeyAuth, bearerAuth } from './caller.ts'
export type { HttpListener, ListenOptions } from './listen.ts'
export { listen } from './listen.ts'
