/** Rejects with the reason of a signal when it aborts; never, without one. */
export function whenAborted(signal: AbortSignal | undefined): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  const stop = (): void => {
    const reason: unknown = signal?.reason
    reject(reason instanceof Error ? reason : new Error('aborted', { cause: reason }))
  }
  if (signal?.aborted) stop()
  else signal?.addEventListener('abort', stop, { once: true })
  return promise
}
