/** `holdfast task "…"`: plans a task, carries it out with tools, verifies it, and goes on after a crash. */
import type { ContextKey, Json, RequestData, Store, Tool } from 'holdfast'
import { TaskAgent, type TaskResults, type TaskRunOptions } from 'holdfast/flows'
import type { GraphEvent } from 'holdfast/graph'
import { dim, green, joinLines, NOTHING, prose, red, type Styled, styled, yellow } from 'holdfast/terminal'
import { toolsFrom } from 'holdfast/tool'
import { loadTools } from 'holdfast/toolbox'
import { answerOption, answersFrom, problemWith } from '../answer.ts'
import { shellWord } from '../arguments.ts'
import { askAll } from '../chat/ask.ts'
import { EXIT, exitCodeOfTask } from '../exit-code.ts'
import { FOREIGN } from '../gate/outputs.ts'
import { messageFrom } from '../message.ts'
import { keyOf, timedId } from '../names.ts'
import { checkLanguageModel, type ReadyAgent, readyAgent } from '../open-agent.ts'
import { outcomeLine } from '../outcome-line.ts'
import { unusable, wrongUsage } from '../refusal.ts'
import { requestSource } from '../request-source.ts'
import {
  isTask,
  policyFrom,
  savedTask,
  saveTask,
  type TaskOptions,
  taskOptions,
} from '../task/task-options.ts'
import { TaskPrinter } from '../task/task-printer.ts'
import { costText } from '../terminal/exchange-lines.ts'
import { LineEditor } from '../terminal/line-editor.ts'
import { optionLines, questionOf } from '../terminal/question-lines.ts'
import { Screen } from '../terminal/screen.ts'
import { counted, oneLine } from '../terminal/text.ts'
import type { Workspace } from '../workspace.ts'
import { type CommandContext, columnsOf, openServers, workspaceOf } from './context.ts'
import { endAtSignals } from './interruption.ts'

/** The conversations of tasks, and the key of the last one. No agent has this name. */
const AGENT = 'task'
const LAST = '~task'

export async function task(context: CommandContext): Promise<number> {
  const { args, cwd, env } = context
  const workspace = await workspaceOf(context)
  const continues = args.has('continue')
  const answers = args.values('answer')
  if (answers.length > 0 && !continues)
    throw wrongUsage('--answer needs --continue: holdfast task --continue ID --answer …')
  const { id, words } = continues
    ? continued(args.words, workspace)
    : { id: timedId(AGENT), words: args.words }
  const key = keyOf({ agent: AGENT, id })
  const options = taskOptions(args, cwd, continues ? savedTask(workspace.folder, id) : undefined)
  if (!continues && words.length === 0) throw wrongUsage('Say what is to be done: holdfast task "…".')
  if (answers.length > 0 && words.length > 0)
    throw wrongUsage('--answer takes no message. Leave one of them out.')
  const text = words.length === 0 ? undefined : await messageFrom(words, context.stdin)
  if (options.mcp !== undefined) await openServers(context, workspace, options.mcp)
  const ready = await readyAgent(workspace, { agent: options.agent, model: options.model, env })
  checkLanguageModel(ready)
  const parts = { tools: await toolsOf(options, ready), plugins: pluginsOf(options, ready) }
  const store = workspace.openStore('create')
  try {
    saveTask(workspace.folder, id, options)
    workspace.rememberContext(LAST, id)
    const { cwd: folder, planning, criteria } = options
    const agent = new TaskAgent({
      model: ready.choice.model,
      ...(ready.definition.settings === undefined ? {} : { settings: ready.definition.settings }),
      ...parts,
      cwd: folder,
      planning,
      criteria,
      store,
      verbose: false,
    })
    return await new TaskSession(context, { agent, ready, store, key, id }).run(text, answers)
  } finally {
    await Promise.all([store.close(), workspace.mcp?.close()])
  }
}

/** The task to go on with, and the words of a message to it. A single word is an id. */
function continued(
  [first, ...others]: readonly string[],
  workspace: Workspace,
): { readonly id: string; readonly words: readonly string[] } {
  const named = first?.startsWith(`${AGENT}:`) ? first.slice(AGENT.length + 1) : first
  const isWord = others.length === 0 && first !== '-' && !/\s/.test(first ?? '')
  if (named !== undefined && (isWord || isTask(workspace.folder, named))) return { id: named, words: others }
  const id = workspace.lastContext(LAST)
  if (id === undefined) throw wrongUsage('There is no task here yet. Begin one: holdfast task "…".')
  return { id, words: first === undefined ? [] : [first, ...others] }
}

/** The toolbox; the tools of MCP servers; and those of the agent that was named. */
async function toolsOf(
  { cwd, agent }: TaskOptions,
  { definition, mcp }: ReadyAgent,
): Promise<readonly Tool[]> {
  const toolbox = [...(await loadTools({ cwd })), ...((await mcp?.tools()) ?? [])]
  if (agent === undefined || definition.tools === undefined) return toolbox
  if (typeof definition.tools === 'function')
    throw unusable(
      `A function chooses the tools of ${agent} for each turn, and a task has none. Leave --agent out.`,
    )
  return [...toolbox, ...toolsFrom(definition.tools)]
}

function pluginsOf({ cwd, agent, policy }: TaskOptions, { definition }: ReadyAgent) {
  const own = agent === undefined ? [] : (definition.plugins ?? [])
  return [...own, ...(policy === undefined ? [] : [policyFrom(policy, cwd)])]
}

interface OpenTask {
  readonly agent: TaskAgent
  readonly ready: ReadyAgent
  readonly store: Store
  readonly key: ContextKey
  readonly id: string
}

/** One task at a terminal, in a pipe, or as lines of JSON. */
class TaskSession {
  readonly #context: CommandContext
  readonly #of: OpenTask
  readonly #screen: Screen | undefined
  readonly #editor: LineEditor | undefined
  readonly #printer: TaskPrinter | undefined
  readonly #stop = new AbortController()
  #hasRun = false

  constructor(context: CommandContext, of: OpenTask) {
    const { args, out, err, stdin } = context
    this.#context = context
    this.#of = of
    if (args.has('json')) return
    // An input that `-` has read to its end gives no answer.
    if (stdin.isTTY && !stdin.readableEnded && out.isTTY && err.isTTY) {
      const screen = new Screen(out)
      this.#screen = screen
      this.#editor = new LineEditor({ input: stdin, output: out, history: [], complete: () => [[], ''] })
      this.#printer = new TaskPrinter({
        columns: screen.columns,
        print: (text) => screen.print(text),
        setLive: (lines) => screen.setLive(lines),
      })
    } else this.#printer = new TaskPrinter({ columns: columnsOf(err), print: (text) => this.#note(text) })
  }

  /**
   * `text`: the task, or that of a further round; undefined to go on with it, by `answers` if there are any. Resolves to the
   * exit code.
   */
  async run(text: string | undefined, answers: readonly string[]): Promise<number> {
    const endForeign = this.#showForeign()
    const tidyUp = () => {
      endForeign?.()
      this.#printer?.stop()
      this.#editor?.close()
    }
    const interrupt = () => this.#interrupt()
    process.once('exit', tidyUp).on('SIGINT', interrupt)
    const ignoreSignals = endAtSignals((exitCode) => this.#leave(exitCode))
    try {
      return await this.#report(await this.#untilEnd(text, answers))
    } finally {
      process.off('exit', tidyUp).off('SIGINT', interrupt)
      ignoreSignals()
      tidyUp()
    }
  }

  async #untilEnd(text: string | undefined, typed: readonly string[]): Promise<TaskResults> {
    const { agent, key, ready, id } = this.#of
    const { contextId } = key
    const given = typed.length === 0 ? undefined : await this.#answersFrom(typed)
    this.#note(dim(`${ready.choice.name} · ${id}`))
    if (text === undefined) await this.#recall()
    let results = await this.#watch((options) => {
      if (given !== undefined) return agent.answer(contextId, given, options)
      return text === undefined
        ? agent.resume(contextId, options)
        : agent.run(text, { ...options, contextId })
    })
    const deferred = new Set<string>()
    while (results.ended === 'waiting') {
      const answers = await this.#ask(results, deferred)
      if (Object.keys(answers).length === 0) return results
      results = await this.#watch((options) => agent.answer(contextId, answers, options))
    }
    return results
  }

  /** Throws before anything is stored if an answer fits no open request. */
  async #answersFrom(typed: readonly string[]): Promise<Readonly<Record<string, Json>>> {
    const { agent, key } = this.#of
    const requests = await (await agent.compile()).requests({ contextId: key.contextId })
    if (requests.length === 0) throw wrongUsage('Nothing waits for an answer in this task.')
    const answers = answersFrom(requests, typed)
    for (const request of requests) {
      const answer = answers[request.requestId]
      const problem = answer === undefined ? undefined : problemWith(request, answer)
      if (problem !== undefined) throw wrongUsage(`--answer for ${request.requestId}: ${problem}`)
    }
    return answers
  }

  async #recall(): Promise<void> {
    const { agent, key } = this.#of
    const state = await agent.getState(key.contextId)
    if (state === undefined) return
    this.#note(styled`${oneLine(state.task ?? '')}`)
    this.#printer?.recall(state)
  }

  async #watch(
    start: (options: Omit<TaskRunOptions, 'contextId'>) => Promise<TaskResults>,
  ): Promise<TaskResults> {
    const onEvent = (event: GraphEvent) => {
      this.#hasRun = true
      if (this.#printer === undefined) this.#context.out.json(event)
      else this.#printer.event(event)
    }
    this.#editor?.listenHidden(({ type }) => {
      if (type !== 'line') this.#interrupt()
    })
    this.#printer?.start()
    try {
      return await start({ signal: this.#stop.signal, onEvent })
    } finally {
      this.#printer?.stop()
      this.#editor?.listenHidden(undefined)
    }
  }

  /** Empty: nobody is there to answer, or the person defers it. */
  async #ask({ requests }: TaskResults, deferred: Set<string>): Promise<Record<string, Json>> {
    const { store, key } = this.#of
    if (this.#screen === undefined || this.#editor === undefined) return {}
    const context = {
      screen: this.#screen,
      editor: this.#editor,
      requestSource: (request: RequestData) => requestSource(store, key, request),
    }
    return askAll(requests, context, deferred)
  }

  #interrupt(): void {
    if (this.#stop.signal.aborted) process.exit(EXIT.cancelled)
    this.#printer?.announce('stopping; press Ctrl-C again to leave at once')
    this.#stop.abort()
  }

  /** Prints that the task stays open. */
  #leave(exitCode: number): void {
    const left = { contextId: this.#of.key.contextId, exitCode, status: 'paused', reason: 'left' }
    if (this.#printer === undefined) this.#context.out.json(outcomeLine(left))
    this.#note(styled`left open. To go on: ${this.#continuing()}`)
  }

  async #report(results: TaskResults): Promise<number> {
    const exitCode = exitCodeOfTask(results.ended)
    if (this.#printer === undefined) {
      const { messages: _, ...rest } = results
      this.#context.out.json(outcomeLine({ exitCode, ...rest }))
      return exitCode
    }
    this.#printer.stop()
    if (results.ended === 'waiting') await this.#showRequests(results)
    else this.#answer(results)
    this.#note(summaryOf(results))
    const isToAnswer = results.ended === 'waiting' && this.#screen === undefined
    if (results.isResumable && !isToAnswer) this.#note(dim(`  to go on: ${this.#continuing()}`))
    else if (!results.isResumable && !this.#hasRun && results.ended !== 'failed') {
      this.#note(styled`This task has ended; nothing was run.`)
      this.#note(dim(`  for a further round: ${this.#continuing()} "…"`))
    }
    return exitCode
  }

  #continuing(): string {
    const config = this.#context.args.value('config')
    const option = config === undefined ? '' : `--config ${shellWord(config)} `
    return `holdfast task ${option}--continue ${this.#of.id}`
  }

  #answer({ finalAnswer }: TaskResults): void {
    if (finalAnswer === null) return
    if (this.#screen === undefined) this.#context.out.write(styled`${prose(finalAnswer)}\n`)
    else {
      this.#screen.print(NOTHING)
      this.#screen.printText(finalAnswer)
      this.#screen.print(NOTHING)
    }
  }

  /** With the commands that answer them. In a terminal they were shown when the person deferred them. */
  async #showRequests({ requests }: TaskResults): Promise<void> {
    if (this.#screen !== undefined) return
    const { store, key } = this.#of
    const look = { columns: 80, rows: 24 }
    for (const request of requests) {
      const source = await requestSource(store, key, request)
      this.#note(
        joinLines([
          ...questionOf(request, source, look).lines,
          ...optionLines(request, look.columns),
          dim(`  to answer: ${this.#continuing()} ${answerOption(request, requests.length === 1)}`),
        ]),
      )
    }
  }

  /** A line for people. */
  #note(line: Styled): void {
    if (this.#screen !== undefined) this.#screen.print(line)
    else if (!this.#context.args.has('json')) this.#context.err.write(styled`${line}\n`)
  }

  #showForeign(): (() => void) | undefined {
    const [screen, editor] = [this.#screen, this.#editor]
    if (screen === undefined || editor === undefined) return undefined
    return this.#context.foreign.showBy((line) => {
      const shown = styled`${FOREIGN}${line}`
      if (editor.isReading) editor.printAbove(shown)
      else screen.print(shown)
    })
  }
}

function summaryOf({ ended, reason, planIteration, usage }: TaskResults): Styled {
  const paint = ended === 'verified' ? green : ended === 'failed' || ended === 'not-verified' ? red : yellow
  const mark = ended === 'verified' ? '✓' : ended === 'failed' || ended === 'not-verified' ? '✗' : '!'
  const facts = [
    ...(planIteration === 0 ? [] : [counted(planIteration, 'plan')]),
    `${usage.inputTokens} in, ${usage.outputTokens} out`,
    ...(usage.costUsd === 0 ? [] : [costText(usage.costUsd)]),
  ]
  return styled`${paint(`${mark} ${oneLine(reason)}`)} ${dim(facts.join(' · '))}`
}
