/**
 * A conversation at a terminal: reads a line, runs the turn, prompts for its requests. It decides what a line means at
 * which time; the layout is the responsibility of terminal/.
 */
import type { Agent, Auth, ContextKey, Store, Turn, TurnOutcome } from 'holdfast'
import { cyan, dim, joinLines, NOTHING, prose, red, type Styled, styled } from 'holdfast/terminal'
import { EXIT } from '../exit-code.ts'
import { withOrigin } from '../mcp-tools.ts'
import { checkMessage, escapedMessage } from '../message.ts'
import { keyOf } from '../names.ts'
import { agentFor, type ReadyAgent } from '../open-agent.ts'
import { readLast, waitingCalls } from '../read-exchanges.ts'
import { commandErrorOf } from '../refusal.ts'
import { requestSource } from '../request-source.ts'
import { exchangeLines } from '../terminal/exchange-lines.ts'
import { remember } from '../terminal/input-history.ts'
import type { LineEditor, Typed } from '../terminal/line-editor.ts'
import type { Screen } from '../terminal/screen.ts'
import { TurnPrinter } from '../terminal/turn-printer.ts'
import type { Workspace } from '../workspace.ts'
import { askAll, askCredentials, type PromptContext } from './ask.ts'
import { type Breakpoints, promptAt } from './breakpoints.ts'

export interface ChatOptions {
  readonly workspace: Workspace
  readonly store: Store
  readonly screen: Screen
  readonly editor: LineEditor
  readonly env: Readonly<Record<string, string | undefined>>
  readonly breakpoints: Breakpoints
  /** Runs a line that begins with a slash; false if it is a message. */
  readonly command: (chat: Chat, text: string) => Promise<boolean>
  /** Called when a conversation with this agent was opened. */
  readonly entered: (agent: string) => Promise<void>
}

/** Shown where nobody has configured an agent, and nobody has written yet. */
const FIRST_STEPS =
  'Try: Write a note called shopping: buy milk. Or: What is 12 * 7? Type /help for the commands, Ctrl-D to leave.'
const SHOWN_AT_START = 3
const LINES_AT_START = 4
const LEAVE_MS = 2000

export class Chat {
  readonly options: ChatOptions
  ready: ReadyAgent
  id: string
  agent: Agent
  /** The lines so far of a message that a backslash continues. */
  readonly #lines: string[] = []
  /** Messages typed while a turn runs, not sent yet. */
  readonly #waiting: string[] = []
  /** Messages sent while a turn runs: that turn takes them, or each has a turn of its own. */
  readonly #sent: Turn[] = []
  #leaving: number | undefined
  /** Ctrl-C was pressed and nothing was sent since: the next Ctrl-C on an empty line quits. */
  #isInterrupted = false

  constructor(options: ChatOptions, ready: ReadyAgent, id: string) {
    this.options = options
    this.ready = ready
    this.id = id
    this.agent = this.#open(ready, id)
  }

  /** Runs until the person quits; resolves to the exit code. */
  async run(): Promise<number> {
    await this.#enter()
    while (this.#leaving === undefined) {
      const text = this.#nextWaiting() ?? (await this.#readMessage())
      if (text === undefined) break
      await this.submit(text)
    }
    await this.#shutDown()
    return this.#leaving ?? EXIT.done
  }

  /** Handles a message or a command. Errors are printed, and the conversation goes on. */
  async submit(text: string): Promise<void> {
    try {
      const escaped = escapedMessage(text)
      const isCommand = escaped === undefined && text.startsWith('/')
      if (isCommand && (await this.options.command(this, text))) return
      const message = escaped ?? text
      checkMessage(message)
      await this.runTurn(this.agent.executeTurn(message))
    } catch (error) {
      this.options.screen.printText(`✗ ${(await commandErrorOf(error)).message}\n`, red)
    }
  }

  /** Runs a turn, then the turns that its requests lead to. Requests in `deferred` are not asked again. */
  async runTurn(turn: Turn, deferred: Set<string> = new Set()): Promise<void> {
    const { screen } = this.options
    for (let next: Turn | undefined = turn; next !== undefined && this.#leaving === undefined; ) {
      const outcome = await this.#watch(next)
      if (outcome === undefined) break
      const isWrong = outcome.error?.code === 'invalid-answer'
      const requests = isWrong ? await this.agent.requests() : outcome.requests
      next = requests.length === 0 ? this.#nextSent(outcome.turn) : await this.#ask(requests, deferred)
    }
    if (this.#leaving === undefined) screen.print(NOTHING)
  }

  /** The turn of a message that was sent while another turn ran, unless that one took it. */
  #nextSent(last: number): Turn | undefined {
    const turn = this.#sent.shift()
    return turn !== undefined && turn.number === last ? this.#nextSent(last) : turn
  }

  /** Prompts for the open requests of the conversation, if there are any. */
  async answerOpen(): Promise<boolean> {
    const requests = await this.agent.requests()
    if (requests.length === 0) return false
    const deferred = new Set<string>()
    const turn = await this.#ask(requests, deferred)
    if (turn === undefined) this.print(NOTHING)
    else await this.runTurn(turn, deferred)
    return true
  }

  /** Switches to another conversation, agent or model. */
  async move(id: string, ready: ReadyAgent = this.ready, agent?: Agent): Promise<void> {
    const next = agent ?? this.#open(ready, id)
    const isSame = id === this.id && ready.name === this.ready.name
    await this.agent.shutdown()
    this.ready = ready
    this.id = id
    this.agent = next
    await this.#enter(isSame)
  }

  #open(ready: ReadyAgent, id: string): Agent {
    const { store, breakpoints } = this.options
    return agentFor(ready, id, { store, plugins: breakpoints.plugins() })
  }

  print(text: Styled): void {
    this.options.screen.print(text)
  }

  get #key(): ContextKey {
    return keyOf({ agent: this.ready.name, id: this.id })
  }

  leave(exitCode: number = EXIT.done): void {
    this.#leaving ??= exitCode
  }

  /** Shows the end of the conversation, and resumes an open turn. */
  async #enter(isSame = false): Promise<void> {
    const { workspace, screen } = this.options
    workspace.rememberContext(this.ready.name, this.id)
    const { choice, name } = this.ready
    this.print(dim(`${name} · ${choice.name} · ${this.id}`))
    if (choice.why !== undefined) screen.printText(`${choice.name}: ${choice.why}`, dim)
    this.print(NOTHING)
    if (!isSame && (await this.#recall()) === 0 && workspace.configPath === undefined)
      screen.printText(`${FIRST_STEPS}\n`, dim)
    await this.options.entered(name)
    await this.agent.start()
    const { turn } = this.agent
    if (turn !== undefined) {
      this.print(dim('— resuming the open turn'))
      await this.runTurn(turn)
    } else await this.answerOpen()
  }

  /** Shows the last few turns, in short, and resolves to their number. */
  async #recall(): Promise<number> {
    const { store, screen } = this.options
    const look = { columns: screen.columns, shortTo: LINES_AT_START }
    const last = await readLast(store, this.#key, SHOWN_AT_START)
    for (const exchange of last) this.print(styled`${joinLines(exchangeLines(exchange, look))}\n`)
    return last.length
  }

  #nextWaiting(): string | undefined {
    const text = this.#waiting.shift()
    if (text !== undefined) this.#printOwn(text)
    return text
  }

  /** Prints a message of the person. */
  #printOwn(text: string): void {
    this.print(styled`${cyan('›')} ${prose(text)}`)
  }

  async #readMessage(): Promise<string | undefined> {
    const { editor, workspace } = this.options
    for (;;) {
      const prompt = this.#lines.length === 0 ? styled`${cyan('›')} ` : styled`${dim('…')} `
      const typed = await editor.read({ prompt })
      if (typed.type === 'end') this.print(NOTHING)
      if (typed.type === 'interrupt' && this.#staysAfterInterrupt()) continue
      if (typed.type !== 'line') return undefined
      const text = this.#messageEndingWith(typed.text)
      if (text === '') continue
      this.#isInterrupted = false
      remember(workspace.historyPath, text)
      return text
    }
  }

  /** The message that this line ends; empty if a backslash continues it. */
  #messageEndingWith(line: string): string {
    const isOpen = /(^|[^\\])(\\\\)*\\$/.test(line)
    this.#lines.push(isOpen ? line.slice(0, -1) : line)
    return isOpen ? '' : this.options.editor.expand(this.#lines.splice(0).join('\n')).trim()
  }

  /** Ctrl-C at the prompt: drops the lines so far, or prints how to quit. */
  #staysAfterInterrupt(): boolean {
    if (this.#lines.splice(0).length > 0) return true
    if (this.#isInterrupted) return false
    this.#isInterrupted = true
    this.print(dim('Press Ctrl-C again, or Ctrl-D, to leave.'))
    return true
  }

  /** Prints a turn while it runs. Undefined if the person quit meanwhile. */
  async #watch(turn: Turn): Promise<TurnOutcome | undefined> {
    const { screen, editor, breakpoints } = this.options
    const printer = new TurnPrinter({
      screen,
      now: () => performance.now(),
      typed: () => editor.line,
      waiting: () => this.#waiting,
      originOf: this.ready.mcp?.originOf,
    })
    const left = Promise.withResolvers<undefined>()
    let isCancelled = false
    const leave = (exitCode: number = EXIT.done) => {
      this.leave(exitCode)
      left.resolve(undefined)
    }
    const cancel = () => {
      isCancelled = true
      this.#isInterrupted = true
      printer.announce('cancelling; press Ctrl-C again to leave')
      turn.cancel('Ctrl-C').catch(() => {})
    }
    const interrupt = () => (isCancelled ? leave(EXIT.cancelled) : cancel())
    const listen = () =>
      editor.listenHidden((typed) => this.#receiveTyped(typed, { cancel, interrupt, leave }))
    listen()
    let stopped: Promise<void> | undefined
    breakpoints.onStop = (stop) => {
      printer.stop()
      stopped = promptAt(stop, { screen, editor }).finally(() => {
        listen()
        printer.start()
      })
      return stopped
    }
    printer.addCalls(await waitingCalls(this.options.store, this.#key))
    printer.start()
    const outcome = await Promise.race([printTurn(turn, printer, () => stopped), left.promise])
    if (outcome === undefined) {
      printer.stop()
      if (!isCancelled) screen.printText('— left open; run holdfast chat to resume it', dim)
    } else printer.end(outcome)
    editor.listenHidden(undefined)
    breakpoints.onStop = undefined
    if (isCancelled) this.#restoreWaiting()
    return outcome
  }

  /** Handles a line typed while a turn runs. */
  #receiveTyped(typed: Typed, { cancel, interrupt, leave }: Running): void {
    const { workspace } = this.options
    if (typed.type !== 'line') {
      if (typed.type === 'interrupt') interrupt()
      else leave()
      return
    }
    const text = this.#messageEndingWith(typed.text)
    if (text === '') return
    remember(workspace.historyPath, text)
    if (text === '/cancel') cancel()
    else if (text === '/exit') leave()
    else if (this.#isQueueing || text.startsWith('/')) this.#waiting.push(text)
    else {
      this.#printOwn(text)
      this.#sent.push(this.agent.executeTurn(text))
    }
  }

  /** Agents that steer or interrupt receive messages at once; for others they wait until the requests are answered. */
  get #isQueueing(): boolean {
    const { whileBusy = 'queue' } = this.ready.definition
    return whileBusy === 'queue'
  }

  /** Puts waiting messages back on the line: after a cancel or a deferred answer they may be unwanted. */
  #restoreWaiting(): void {
    const text = [...this.#waiting.splice(0), ...this.#lines.splice(0)].join(' ')
    if (text !== '') this.options.editor.prefill(text)
  }

  /** The turn that takes the answers; undefined if there are none. */
  async #ask(requests: TurnOutcome['requests'], deferred: Set<string>): Promise<Turn | undefined> {
    const { screen, editor, store } = this.options
    const key = this.#key
    const context: PromptContext = {
      screen,
      editor,
      requestSource: async (request) => withOrigin(await requestSource(store, key, request), this.ready.mcp),
    }
    const needed = requests.find(({ from }) => from === 'credentials')
    const credentials = needed === undefined ? undefined : await askCredentials(needed, context)
    const auth: { auth?: Auth } = credentials === undefined ? {} : { auth: { credentials } }
    const questions = requests.filter((request) => request !== needed)
    const isLeft = needed !== undefined && credentials === undefined
    const answers = isLeft ? {} : await askAll(questions, context, deferred)
    if (Object.keys(answers).length > 0) return this.agent.answer(answers, auth)
    if (credentials !== undefined) return this.agent.executeTurn(null, auth)
    screen.printText('— not answered; type /answer to be asked again, or a message to go on without', dim)
    this.#restoreWaiting()
    return undefined
  }

  /** Waits only briefly: the journal has everything. */
  async #shutDown(): Promise<void> {
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(() => late.resolve(), LEAVE_MS)
    await Promise.race([this.agent.shutdown(), late.promise])
    clearTimeout(timer)
  }
}

/** Controls of the running turn. */
interface Running {
  readonly cancel: () => void
  /** Cancels it; the second time, quits. */
  readonly interrupt: () => void
  readonly leave: () => void
}

/** `stopped`: the prompt of a breakpoint; events wait for it. */
async function printTurn(
  turn: Turn,
  printer: TurnPrinter,
  stopped: () => Promise<void> | undefined,
): Promise<TurnOutcome> {
  for await (const event of turn) {
    await stopped()
    printer.event(event)
  }
  return turn.outcome
}
