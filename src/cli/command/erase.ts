/** `holdfast erase ID`: removes a conversation for good. */
import { EXIT } from '../exit-code.ts'
import { type Styled, styled } from '../gate/styled.ts'
import { findContext } from '../names.ts'
import { wrongUsage } from '../refusal.ts'
import { LineEditor } from '../terminal/line-editor.ts'
import { type CommandContext, workspaceOf } from './context.ts'
import { agentsWanted } from './show.ts'

export async function erase(context: CommandContext): Promise<number> {
  const { given, stdin, out, err } = context
  const workspace = await workspaceOf(context)
  const agents = agentsWanted(given.value('agent'), workspace)
  const said = given.words[0] ?? ''
  const isAsked = !given.has('yes')
  if (isAsked && !(stdin.isTTY && err.isTTY))
    throw wrongUsage(
      `Nobody is there to be asked whether ${JSON.stringify(said)} may be erased. Add --yes to do it.`,
    )
  const store = workspace.openStore('change')
  try {
    const { key, turn } = await findContext(store, said, agents)
    const turns = `${turn} ${turn === 1 ? 'turn' : 'turns'}`
    if (isAsked && !(await agrees(context, styled`Erase ${key.contextId} with ${turns} for good? [y/N] `))) {
      err.write(styled`Nothing was erased.\n`)
      return EXIT.cancelled
    }
    await store?.erase(key)
    out.write(styled`Erased ${key.contextId} (${turns}). Its id cannot be used again.\n`)
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
