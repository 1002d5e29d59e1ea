/** `holdfast erase ID`: removes a conversation for good. */
import { createInterface } from 'node:readline/promises'
import { EXIT } from '../exit-code.ts'
import { findContext } from '../names.ts'
import { wrongUsage } from '../refusal.ts'
import { type CommandContext, workspaceOf } from './context.ts'
import { agentsWanted } from './show.ts'

export async function erase(context: CommandContext): Promise<number> {
  const { given, stdin, stdout, stderr } = context
  const workspace = await workspaceOf(context)
  const agents = agentsWanted(given.value('agent'), workspace)
  const said = given.words[0] ?? ''
  const isAsked = !given.has('yes')
  if (isAsked && !(stdin.isTTY && stderr.isTTY))
    throw wrongUsage(
      `Nobody is there to be asked whether ${JSON.stringify(said)} may be erased. Add --yes to do it.`,
    )
  const store = workspace.openStore('change')
  try {
    const { key, turn } = await findContext(store, said, agents)
    const turns = `${turn} ${turn === 1 ? 'turn' : 'turns'}`
    if (isAsked && !(await agrees(context, `Erase ${key.contextId} with ${turns} for good? [y/N] `))) {
      stderr.write('Nothing was erased.\n')
      return EXIT.cancelled
    }
    await store?.erase(key)
    stdout.write(`Erased ${key.contextId} (${turns}). Its id cannot be used again.\n`)
    return EXIT.done
  } finally {
    await store?.close()
  }
}

async function agrees({ stdin, stderr }: CommandContext, question: string): Promise<boolean> {
  const rl = createInterface({ input: stdin, output: stderr })
  const closed = new Promise<string>((resolve) => {
    rl.once('close', () => resolve(''))
    rl.once('SIGINT', () => resolve(''))
  })
  const answer = await Promise.race([rl.question(question), closed])
  rl.close()
  return /^y(es)?$/i.test(answer.trim())
}
