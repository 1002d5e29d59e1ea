/** A name for "this tool with these arguments", the same in every process. */
import { hash } from 'node:crypto'
import type { Json, JsonObject } from '../protocol/index.ts'

/** 32 hexadecimal digits over the name of the tool and its arguments, whatever the order of their keys. */
export function argumentsKey(tool: string, args: Json): string {
  const text = `${JSON.stringify(tool)}\n${canonical(args)}`
  return hash('sha256', text, 'hex').slice(0, 32)
}

/** JSON with the keys of every object sorted. Two values have the same text exactly if they are the same as JSON. */
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
