/** `holdfast erase ID`: removes a conversation for good. */

import { type Styled, styled } from 'holdfast/terminal'
import { EXIT } from '../exit-code.ts'
import { contextText, findContext } from '../names.ts'
import { wrongUsage } from '../refusal.ts'
import { LineEditor } from '../terminal/line-editor.ts'
import { counted } from '../terminal/text.ts'
import { type CommandContext, scopeOf, workspaceOf } from './context.ts'

export async function erase(context: CommandContext): Promise<number> {
  const { args, stdin, out, err } = context
  const workspace = await workspaceOf(context)
  const scope = scopeOf(context, workspace)
  const name = args.words[0] ?? ''
  const asksFirst = !args.has('yes')
  if (asksFirst && !(stdin.isTTY && err.isTTY))
    throw wrongUsage(
      `Cannot ask before erasing ${JSON.stringify(name)}: this is no terminal. Add --yes to erase it.`,
    )
  const store = workspace.openStore('change')
  try {
    const { key, turn } = await findContext(store, name, scope)
    const turns = counted(turn, 'turn')
    const what = contextText(key)
    if (asksFirst && !(await agrees(context, styled`Erase ${what} with ${turns} for good? [y/N] `))) {
      err.write(styled`Nothing was erased.\n`)
      return EXIT.cancelled
    }
    await store?.erase(key)
    out.write(styled`Erased ${what} (${turns}). Its id cannot be used again.\n`)
    return EXIT.done
  } finally {
    await store?.close()
  }
}

async function agrees({ stdin, err }: CommandContext, question: Styled): Promise<boolean> {
  const editor = new LineEditor({ input: stdin, output: err, history: [], complete: () => [[], ''] })
  const typed = await editor.read({ prompt: question, answer: true })
  editor.close()
  return typed.type === 'line' && /^y(es)?$/i.test(typed.text.trim())
}
