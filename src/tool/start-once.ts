/** Starts a library that several rooms share, and that breaks if it is started twice at a time. */

const STARTS = new WeakMap<object, Promise<void>>()

/** The first caller starts `library`; after a failure, the next one does. */
export function startOnce(library: object, start: () => Promise<void>): Promise<void> {
  const known = STARTS.get(library)
  if (known !== undefined) return known
  const starting = start()
  STARTS.set(library, starting)
  starting.catch(() => STARTS.delete(library))
  return starting
}
