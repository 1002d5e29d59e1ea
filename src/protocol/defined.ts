/** Optional fields of an object, where an absent field and an `undefined` one differ. */

type OptionalField<T> = { [Name in keyof T]-?: undefined extends T[Name] ? Name : never }[keyof T]

export type Defined<T> = Omit<T, OptionalField<T>> & {
  [Name in OptionalField<T>]?: Exclude<T[Name], undefined>
}

/** Drops the fields that are `undefined`: `{ type, ...defined({ name, expiresAt }) }`. */
export function defined<T extends object>(fields: T): Defined<T> {
  const kept: Partial<T> = {}
  for (const name in fields) if (fields[name] !== undefined) kept[name] = fields[name]
  return kept as Defined<T>
}
