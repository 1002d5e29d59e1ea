/** Values that survive a round trip through JSON unchanged. Everything durable is one of these. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject

export interface JsonObject {
  readonly [key: string]: Json | undefined
}

/** True for an object that is no list. */
export function isObject(value: Json | undefined): value is JsonObject
export function isObject(value: unknown): value is object
export function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const MOST_VALUES = 1_000_000
const MOST_CHARACTERS = 64 * 1024 * 1024

/** For `JSON.stringify`: throws after 1,000,000 values or 64 MB, because shared lists can unfold to billions. */
export function boundedReplacer(): (key: string, value: unknown) => unknown {
  let [values, characters] = [0, 0]
  return (key, value) => {
    values += 1
    characters += key.length + (typeof value === 'string' ? value.length : 0)
    if (values > MOST_VALUES) throw new RangeError(`it has more than ${MOST_VALUES} values`)
    if (characters > MOST_CHARACTERS) throw new RangeError(`it has more than ${MOST_CHARACTERS} characters`)
    return value
  }
}

/** True for a value with more than so many levels. Breadth first: recursion is what the check must prevent. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; depth <= levels; depth++) {
    level = level.flatMap((each): unknown[] =>
      typeof each === 'object' && each !== null ? Object.values(each) : [],
    )
    if (level.length === 0) return false
  }
  return true
}

/** JSON with the keys of every object sorted. Two values have the same text exactly if they are equal as JSON. */
export function canonical(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) {
    return `[${(value as readonly Json[]).map((item) => canonical(item ?? null)).join(',')}]`
  }
  const object = value as JsonObject
  let fields = ''
  for (const key of Object.keys(object).sort()) {
    const field = object[key]
    if (field === undefined) continue
    fields += `${fields === '' ? '' : ','}${JSON.stringify(key)}:${canonical(field)}`
  }
  return `{${fields}}`
}
