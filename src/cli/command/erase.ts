/** `holdfast erase ID`: removes a conversation for good, with its logs. */

import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { eraseLogs } from 'holdfast/observe'
import { type Styled, styled } from 'holdfast/terminal'
import { EXIT } from '../exit-code.ts'
import { contextText, findContext, namedContext } from '../names.ts'
import { unusable, wrongUsage } from '../refusal.ts'
import { forgetTask } from '../task/task-options.ts'
import { LineEditor } from '../terminal/line-editor.ts'
import { counted } from '../terminal/text.ts'
import type { Workspace } from '../workspace.ts'
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
  const folders = logFolders(workspace)
  const removeLogs = async () => void (store && (await eraseLogs(store, { folders }).catch(refuseLogs)))
  try {
    const { key, turn } = await findContext(store, name, scope)
    const turns = counted(turn, 'turn')
    const what = contextText(key)
    if (asksFirst && !(await agrees(context, styled`Erase ${what} with ${turns} for good? [y/N] `))) {
      err.write(styled`Nothing was erased.\n`)
      return EXIT.cancelled
    }
    await store?.erase(key)
    if (what === key.contextId) forget(workspace, key.contextId)
    await removeLogs()
    // A server that has the conversation open writes its last lines within 100 ms.
    await setTimeout(300)
    out.write(styled`Erased ${what} (${turns}). Its id is refused until it is recreated.\n`)
    return EXIT.done
  } finally {
    // Also if there is no such conversation: an earlier erase may have died before it came to the logs.
    await removeLogs()
    await store?.close()
  }
}

function refuseLogs(error: unknown): never {
  const why = error instanceof Error ? error.message : String(error)
  throw unusable(
    `Logs of erased conversations cannot be removed: ${why}. Mend that and type the same command again: it removes what is left.`,
    error,
  )
}

/** Removes the conversation from the files that remember the last one, and the options of a task. */
function forget(workspace: Workspace, contextId: string): void {
  workspace.forgetContext(contextId)
  const task = namedContext(contextId, ['task'])
  if (task !== undefined) forgetTask(workspace.folder, task.id)
}

/** The folders of logs that agents of the command and of the config write to. */
function logFolders({ folder, agents }: Workspace): readonly string[] {
  const options = Object.values(agents).flatMap(({ log, sessions }) => [log, sessions])
  const given = options.flatMap((option) =>
    typeof option === 'object' && option?.folder !== undefined ? [option.folder] : [],
  )
  return [join(folder, 'logs'), join(folder, 'sessions'), ...given]
}

async function agrees({ stdin, err }: CommandContext, question: Styled): Promise<boolean> {
  const editor = new LineEditor({ input: stdin, output: err, history: [], complete: () => [[], ''] })
  const typed = await editor.read({ prompt: question, answer: true })
  editor.close()
  return typed.type === 'line' && /^y(es)?$/i.test(typed.text.trim())
}
