/**
 * Values that are usually available and sometimes pending. Awaiting an available value costs a turn much of its time,
 * so callers pass it as it is.
 */
export type MaybePromise<T> = T | Promise<T>

/** Applies `make` to a value: now if it is available, else once it resolves. */
export function chain<T, R>(value: MaybePromise<T>, make: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return isPromise(value) ? value.then(make) : make(value)
}

/** Accepts any thenable. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return (
    value instanceof Promise || typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
  )
}
