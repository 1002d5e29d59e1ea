/** `holdfast chat --agent research`: questions to the documents, one after another, in one conversation. */
import type { Store } from 'holdfast'
import { type ResearchGraph, researchAssistant } from 'holdfast/research'
import { cyan, dim, NOTHING, prose, red, styled } from 'holdfast/terminal'
import { startingId } from '../chat/slash.ts'
import type { CommandContext } from '../command/context.ts'
import { endAtSignals } from '../command/interruption.ts'
import { EXIT } from '../exit-code.ts'
import { checkMessage, escapedMessage } from '../message.ts'
import { idFrom, keyOf, timedId } from '../names.ts'
import { didYouMean } from '../nearest.ts'
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
Any other line is a question, or the reply to one; one that begins with a slash is written with two. Ctrl-C cancels it.`

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
  const ignoreSignals = endAtSignals()
  let store: Store | undefined
  try {
    store = workspace.openStore('create')
    const graph = researchAssistant({ ...options, store })
    const id = given ?? (await startingId({ workspace, store }, RESEARCH))
    return await new ResearchChat({ context, workspace, graph, model, editor }, id).run()
  } finally {
    ignoreSignals()
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
  /** Lines typed while a question is answered. */
  readonly #waiting: string[] = []
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
      const waiting = this.#waiting.shift()
      if (waiting !== undefined) {
        this.#screen.print(styled`${cyan('›')} ${prose(waiting)}`)
        await this.#take(waiting)
        continue
      }
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
    else if (/^\/\w+(?:\s|$)/.test(text)) {
      const [name = ''] = text.split(/\s/)
      const meant = didYouMean(name, COMMANDS)
      this.#screen.printText(`✗ ${name} is no command.${meant} Type /help to list them.\n`, red)
    } else await this.#ask(escapedMessage(text) ?? text)
  }

  /** Errors are printed, and the conversation goes on. */
  async #ask(question: string | null): Promise<void> {
    const { context, graph, editor } = this.#options
    const { contextId } = keyOf({ agent: RESEARCH, id: this.#id })
    const session = new ResearchSession(context, {
      graph,
      contextId,
      id: this.#id,
      continueTurn: '/continue',
    })
    let isCancelled = false
    editor.listenHidden((typed) => {
      if (typed.type === 'line') {
        this.#waiting.push(editor.expand(typed.text).trim())
        return
      }
      const isEnd = typed.type === 'end'
      if (isEnd || isCancelled) this.#exitCode = isEnd ? EXIT.done : EXIT.cancelled
      isCancelled = true
      session.cancel()
    })
    const removeLive = (): void => session.stop()
    process.once('exit', removeLive)
    try {
      if (question !== null) checkMessage(question)
      await session.ask(question)
    } catch (error) {
      this.#screen.printText(`✗ ${(await commandErrorOf(error)).message}\n`, red)
    } finally {
      process.off('exit', removeLive)
      editor.listenHidden(undefined)
      if (isCancelled && this.#waiting.length > 0) editor.prefill(this.#waiting.splice(0).join(' '))
    }
    this.#screen.print(NOTHING)
  }
}
