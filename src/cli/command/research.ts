/** `holdfast research add | list | remove`: the documents that questions are answered from. */

import { wrongUsage } from '../refusal.ts'
import { addDocuments, listDocuments, removeDocument } from '../research/documents.ts'
import type { Command, CommandContext } from './context.ts'

const ACTIONS: ReadonlyMap<string, Command> = new Map([
  ['add', addDocuments],
  ['list', listDocuments],
  ['remove', removeDocument],
])

export async function research(context: CommandContext): Promise<number> {
  const [action = ''] = context.args.words
  const run = ACTIONS.get(action)
  if (run !== undefined) return run(context)
  throw wrongUsage(`${JSON.stringify(action)} is none of add, list, remove. See holdfast research --help`)
}
