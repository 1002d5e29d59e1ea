/** A name for "this tool with these arguments", the same in every process. */
import { hash } from 'node:crypto'
import { canonical, type Json } from '../protocol/index.ts'

/** 32 hexadecimal digits over the tool's name and its arguments, in any key order. */
export function argumentsKey(tool: string, args: Json): string {
  const text = `${JSON.stringify(tool)}\n${canonical(args)}`
  return hash('sha256', text, 'hex').slice(0, 32)
}
