/** The same object with one of its methods replaced. */
export function withMethod<T extends object, Name extends keyof T>(
  target: T,
  name: Name,
  method: T[Name],
): T {
  return new Proxy(target, {
    get(of, wanted) {
      if (wanted === name) return method
      const value: unknown = Reflect.get(of, wanted)
      // Bound, because a proxy has no access to the private fields of its target.
      return typeof value === 'function' ? (value.bind(of) as unknown) : value
    },
  })
}
