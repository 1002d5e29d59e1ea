/** Requests to addresses that others name, guarded: only public addresses, bounded in time and size. */
export type { GuardedFetchOptions, GuardedResponse } from './address-guard.ts'
export { guardedFetch } from './address-guard.ts'
export type { ConnectAddress, ConnectTarget } from './guard-exchange.ts'
export type { AllowedOrigin, FetchErrorCode, ResolveHost } from './guard-target.ts'
export { GuardedFetchError, parseOrigins, parseTarget, preferHttps } from './guard-target.ts'
export { pageText } from './page-text.ts'
export type { PostFailure } from './signed-post.ts'
export { signedPost, signingSecret, waitAfter } from './signed-post.ts'
