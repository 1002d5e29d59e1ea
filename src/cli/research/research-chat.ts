/** `holdfast chat --agent research`: questions to the documents, one after another, in one conversation. */
import type { Store } from 'holdfast'
import { type ResearchGraph, researchAssistant } from 'holdfast/research'
import { cyan, dim, NOTHING, red, styled } from 'holdfast/terminal'
import type { CommandContext } from '../command/context.ts'
import { EXIT } from '../exit-code.ts'
import { checkMessage } from '../message.ts'
import { idFrom, keyOf, timedId } from '../names.ts'
import { commandErrorOf } from '../refusal.ts'
import { readHistory, remember } from '../terminal/input-history.ts'
import { LineEditor } from '../terminal/line-editor.ts'
import { Screen } from '../terminal/screen.ts'
import type { Workspace } from '../workspace.ts'
import { closeCorpus, openResearch, RESEARCH } from './open-research.ts'
import { ResearchSession } from './question.ts'

const COMMANDS = ['/continue', '/exit', '/help', '/new']
const HELP = `/new       begin another conversation
/continue  go on with a question that was interrupted
/exit      leave; so does Ctrl-D
Any other line is a question, or the reply to one. Ctrl-C cancels it.`

export async function researchChat(context: CommandContext, workspace: Workspace): Promise<number> {
  const { args, stdin, out } = context
  const given = idFrom(args.value('context'), RESEARCH)
  const { options, model, corpus } = await openResearch(context, workspace)
  const editor = new LineEditor({
    input: stdin,
    output: out,
    history: readHistory(workspace.historyPath),
    complete: (line) => [COMMANDS.filter((each) => each.startsWith(line)), line],
  })
  const tidyUp = (): void => editor.close()
  process.once('exit', tidyUp)
  let store: Store | undefined
  try {
    store = workspace.openStore('create')
    const graph = researchAssistant({ ...options, store })
    const id = given ?? workspace.lastContext(RESEARCH) ?? 'main'
    return await new ResearchChat({ context, workspace, graph, model, editor }, id).run()
  } finally {
    process.off('exit', tidyUp)
    tidyUp()
    await Promise.all([store?.close(), closeCorpus(corpus)])
  }
}

interface ResearchChatOptions {
  readonly context: CommandContext
  readonly workspace: Workspace
  readonly graph: ResearchGraph
  readonly model: string
  readonly editor: LineEditor
}

class ResearchChat {
  readonly #options: ResearchChatOptions
  readonly #screen: Screen
  #id: string
  #exitCode: number | undefined

  constructor(options: ResearchChatOptions, id: string) {
    this.#options = options
    this.#screen = new Screen(options.context.out)
    this.#id = id
  }

  /** Runs until the person leaves; resolves to the exit code. */
  async run(): Promise<number> {
    this.#enter(this.#id)
    let isInterrupted = false
    while (this.#exitCode === undefined) {
      const typed = await this.#options.editor.read({ prompt: styled`${cyan('›')} ` })
      if (typed.type === 'end' || (typed.type === 'interrupt' && isInterrupted)) break
      isInterrupted = typed.type === 'interrupt'
      if (typed.type === 'line') await this.#take(this.#options.editor.expand(typed.text).trim())
      else this.#screen.print(dim('Press Ctrl-C again, or Ctrl-D, to leave.'))
    }
    return this.#exitCode ?? EXIT.done
  }

  #enter(id: string): void {
    this.#id = id
    const { workspace, model } = this.#options
    workspace.rememberContext(RESEARCH, id)
    this.#screen.print(styled`${dim(`${RESEARCH} · ${model} · ${id}`)}\n`)
  }

  async #take(text: string): Promise<void> {
    if (text === '') return
    remember(this.#options.workspace.historyPath, text)
    if (text === '/exit') this.#exitCode = EXIT.done
    else if (text === '/help') this.#screen.printText(`${HELP}\n`)
    else if (text === '/new') this.#enter(timedId(RESEARCH))
    else if (text === '/continue') await this.#ask(null)
    else if (/^\/\w+$/.test(text))
      this.#screen.printText(`✗ There is no command ${text}. Type /help for the commands.\n`, red)
    else await this.#ask(text)
  }

  /** Errors are printed, and the conversation goes on. */
  async #ask(question: string | null): Promise<void> {
    const { context, graph, editor } = this.#options
    const { contextId } = keyOf({ agent: RESEARCH, id: this.#id })
    const session = new ResearchSession(context, { graph, contextId, id: this.#id, goOn: '/continue' })
    let isCancelled = false
    editor.listenHidden(({ type }) => {
      if (type === 'line') return
      if (type === 'end' || isCancelled) this.#exitCode = type === 'end' ? EXIT.done : EXIT.cancelled
      isCancelled = true
      session.cancel()
    })
    try {
      if (question !== null) checkMessage(question)
      await session.ask(question)
    } catch (error) {
      this.#screen.printText(`✗ ${(await commandErrorOf(error)).message}\n`, red)
    } finally {
      editor.listenHidden(undefined)
    }
    this.#screen.print(NOTHING)
  }
}
