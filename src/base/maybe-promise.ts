/**
 * Values that are mostly here and sometimes come later. A turn that waits for what is here already spends much of its
 * time on waiting, so whoever has a value gives it as it is.
 */
export type MaybePromise<T> = T | Promise<T>

/** Goes on with a value: now if the value is here, else when it comes. */
export function chain<T, R>(value: MaybePromise<T>, make: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return isPromise(value) ? value.then(make) : make(value)
}

/** Also of promises of other makes. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return (
    value instanceof Promise || typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
  )
}
