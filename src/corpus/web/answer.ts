/** Reads the parts of a vendor's answer, whose shape is not trusted. */
import type { Hit } from './vendor.ts'

/** The value below these names; undefined if a part is missing. */
export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  let at = value
  for (const name of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined
    at = (at as Readonly<Record<string, unknown>>)[name]
  }
  return at
}

export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = valueAt(value, ...path)
  return typeof found === 'string' ? found : ''
}

/** One hit for each entry of a list, with the text of the named field as its excerpt; undefined if there is no list. */
export function hitsIn(list: unknown, excerpt: string): readonly Hit[] | undefined {
  if (!Array.isArray(list)) return undefined
  return list.map((entry: unknown) => ({
    url: textAt(entry, 'url'),
    title: textAt(entry, 'title'),
    excerpt: textAt(entry, excerpt),
  }))
}
