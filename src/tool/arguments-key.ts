/** A name for "this tool with these arguments", the same in every process. */
import { createHash } from 'node:crypto'
import type { Json } from '../protocol/index.ts'

/** 32 hexadecimal digits over the name of the tool and its arguments, whatever the order of their keys. */
export function argumentsKey(tool: string, args: Json): string {
  const text = `${JSON.stringify(tool)}\n${canonical(args)}`
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

/** JSON with the keys of every object sorted. Two values have the same text exactly if they are the same as JSON. */
export function canonical(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) {
    return `[${(value as readonly Json[]).map((item) => canonical(item ?? null)).join(',')}]`
  }
  const fields = Object.entries(value)
    .filter((field): field is [string, Json] => field[1] !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, field]) => `${JSON.stringify(key)}:${canonical(field)}`)
  return `{${fields.join(',')}}`
}
