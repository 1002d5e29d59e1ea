/** `holdfast chat`: a conversation at this terminal. */
import { Chat, type ChatOptions } from '../chat/chat.ts'
import { completeSlash, modelNames, runSlash, startingId } from '../chat/slash.ts'
import { EXIT } from '../exit-code.ts'
import { FOREIGN } from '../gate/outputs.ts'
import { type Styled, styled } from '../gate/styled.ts'
import { idFrom, listContexts } from '../names.ts'
import { readyAgent } from '../open-agent.ts'
import { wrongUsage } from '../refusal.ts'
import { readHistory } from '../terminal/input-history.ts'
import { LineEditor } from '../terminal/line-editor.ts'
import { Screen } from '../terminal/screen.ts'
import { type CommandContext, workspaceOf } from './context.ts'

export async function chat(context: CommandContext): Promise<number> {
  const { given, env, stdin, out } = context
  if (!stdin.isTTY || !out.isTTY)
    throw wrongUsage(
      'chat needs a terminal. For scripts: holdfast run "…", or holdfast run - to read standard input.',
    )
  const workspace = await workspaceOf(context)
  const ready = await readyAgent(workspace, { agent: given.value('agent'), model: given.value('model'), env })
  const wanted = idFrom(given.value('context'), ready.name)
  const store = workspace.openStore('create')
  const ids: string[] = []
  const entered = async (agent: string) => {
    const prefix = `${agent}:`
    ids.splice(
      0,
      ids.length,
      ...(await listContexts(store, prefix)).map(({ key }) => key.contextId.slice(prefix.length)),
    )
  }
  const completions = {
    ids: () => ids,
    agents: () => Object.keys(workspace.agents),
    models: () => modelNames(env),
  }
  const editor = new LineEditor({
    input: stdin,
    output: out,
    history: readHistory(workspace.historyPath),
    complete: (line) => completeSlash(line, completions),
  })
  const options: ChatOptions = {
    workspace,
    store,
    screen: new Screen(out),
    editor,
    env,
    command: runSlash,
    entered,
  }
  const endForeign = context.foreign.showBy((line) => showForeign(line, options))
  const tidyUp = () => {
    endForeign()
    options.screen.setLive([])
    editor.close()
  }
  process.once('exit', tidyUp)
  // Everything is in the journal: whoever comes next goes on from there.
  const end = (signal: 'SIGTERM' | 'SIGHUP') => {
    process.exit(signal === 'SIGTERM' ? EXIT.terminated : EXIT.hungUp)
  }
  process.once('SIGTERM', end).once('SIGHUP', end)
  try {
    const id = wanted ?? (await startingId({ options }, ready.name))
    return await new Chat(options, ready, id).run()
  } finally {
    process.off('SIGTERM', end).off('SIGHUP', end).off('exit', tidyUp)
    tidyUp()
    await store.close()
  }
}

/** The output of a tool goes above the line that is being typed, or above the lines that change. */
function showForeign(line: Styled, { editor, screen }: ChatOptions): void {
  const shown = styled`${FOREIGN}${line}`
  if (editor.isReading) editor.printAbove(shown)
  else screen.say(shown)
}
