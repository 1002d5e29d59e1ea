/** `holdfast chat`: a conversation at this terminal. */
import { type Styled, styled } from 'holdfast/terminal'
import { Breakpoints } from '../chat/breakpoints.ts'
import { Chat, type ChatOptions } from '../chat/chat.ts'
import { completeSlash, modelNames, runSlash, startingId } from '../chat/slash.ts'
import { FOREIGN } from '../gate/outputs.ts'
import { idFrom, listContexts, namedContext } from '../names.ts'
import { readyAgent } from '../open-agent.ts'
import { wrongUsage } from '../refusal.ts'
import { hasResearch, RESEARCH } from '../research/open-research.ts'
import { researchChat } from '../research/research-chat.ts'
import { readHistory } from '../terminal/input-history.ts'
import { LineEditor } from '../terminal/line-editor.ts'
import { Screen } from '../terminal/screen.ts'
import { type CommandContext, workspaceOf } from './context.ts'
import { endAtSignals } from './interruption.ts'

export async function chat(context: CommandContext): Promise<number> {
  const { args, env, stdin, out } = context
  if (!stdin.isTTY || !out.isTTY)
    throw wrongUsage(
      'chat needs a terminal. For scripts: holdfast run "…", or holdfast run - to read standard input.',
    )
  const workspace = await workspaceOf(context)
  const named = args.value('agent') ?? namedContext(args.value('context') ?? '', workspace.names)?.agent
  if (named === RESEARCH && hasResearch(workspace)) return researchChat(context, workspace)
  const ready = await readyAgent(workspace, { agent: named, model: args.value('model'), env })
  const requestedId = idFrom(args.value('context'), ready.name)
  const store = workspace.openStore('create')
  let ids: readonly string[] = []
  const entered = async (agent: string) => {
    const prefix = `${agent}:`
    const heads = await listContexts(store, { prefix })
    ids = heads.map(({ key }) => key.contextId.slice(prefix.length))
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
    breakpoints: new Breakpoints(args.values('break')),
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
  const ignoreSignals = endAtSignals()
  try {
    const id = requestedId ?? (await startingId(options, ready.name))
    return await new Chat(options, ready, id).run()
  } finally {
    ignoreSignals()
    process.off('exit', tidyUp)
    tidyUp()
    await Promise.all([store.close(), workspace.mcp?.close()])
  }
}

/** Prints output of a tool above the line being typed, or above the live lines. */
function showForeign(line: Styled, { editor, screen }: ChatOptions): void {
  const shown = styled`${FOREIGN}${line}`
  if (editor.isReading) editor.printAbove(shown)
  else screen.print(shown)
}
