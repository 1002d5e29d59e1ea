/** `holdfast research`: a question to your documents, or `add`, `list` and `remove` for the documents themselves. */
import { addDocuments, listDocuments, removeDocument } from '../research/documents.ts'
import { askQuestion } from '../research/question.ts'
import type { Command, CommandContext } from './context.ts'

const ACTIONS: ReadonlyMap<string, Command> = new Map([
  ['add', addDocuments],
  ['list', listDocuments],
  ['remove', removeDocument],
])

export async function research(context: CommandContext): Promise<number> {
  const run = ACTIONS.get(context.args.words[0] ?? '') ?? askQuestion
  return run(context)
}
