/**
 * A conversation at a terminal: reads a line, plays the turn, asks what it waits for. It decides what a line means at
 * which time; how things look is the business of terminal/.
 */
import type { Agent, Auth, ContextKey, Store, Turn, TurnOutcome } from 'holdfast'
import { askedBy } from '../asked-by.ts'
import { EXIT } from '../exit-code.ts'
import { cyan, dim, joinLines, NOTHING, prose, red, type Styled, styled } from '../gate/styled.ts'
import { checkMessage } from '../message.ts'
import { keyOf } from '../names.ts'
import { agentFor, type ReadyAgent } from '../open-agent.ts'
import { readLast, waitingCalls } from '../read-exchanges.ts'
import { troubleOf } from '../refusal.ts'
import { exchangeLines } from '../terminal/exchange-lines.ts'
import { remember } from '../terminal/input-history.ts'
import type { LineEditor, Typed } from '../terminal/line-editor.ts'
import type { Screen } from '../terminal/screen.ts'
import { TurnPrinter } from '../terminal/turn-printer.ts'
import type { Workspace } from '../workspace.ts'
import { type Asking, askAll, askCredentials } from './ask.ts'

export interface ChatOptions {
  readonly workspace: Workspace
  readonly store: Store
  readonly screen: Screen
  readonly editor: LineEditor
  readonly env: Readonly<Record<string, string | undefined>>
  /** Carries out a line that begins with a slash; false if it is a message after all. */
  readonly command: (chat: Chat, text: string) => Promise<boolean>
  /** A conversation with this agent was opened. */
  readonly entered: (agent: string) => Promise<void>
}

const SHOWN_AT_START = 3
const LINES_AT_START = 4
const LEAVE_MS = 2000

export class Chat {
  readonly options: ChatOptions
  ready: ReadyAgent
  id: string
  agent: Agent
  /** Messages that were typed while a turn ran. */
  readonly #waiting: string[] = []
  /** What was sent while a turn ran: it is heard by that turn, or has one of its own. */
  readonly #sent: Turn[] = []
  #leaving: number | undefined
  /** Ctrl-C was pressed and nothing was sent since: the next one on an empty line leaves. */
  #isInterrupted = false

  constructor(options: ChatOptions, ready: ReadyAgent, id: string) {
    this.options = options
    this.ready = ready
    this.id = id
    this.agent = agentFor(ready, id, options.store)
  }

  /** Until the person leaves; then the exit code. */
  async run(): Promise<number> {
    await this.#enter()
    while (this.#leaving === undefined) {
      const text = this.#nextWaiting() ?? (await this.#readMessage())
      if (text === undefined) break
      await this.hear(text)
    }
    await this.#letGo()
    return this.#leaving ?? EXIT.done
  }

  /** A message or a command. What goes wrong is told, and the conversation goes on. */
  async hear(text: string): Promise<void> {
    try {
      if (text.startsWith('/') && (await this.options.command(this, text))) return
      checkMessage(text)
      await this.play(this.agent.executeTurn(text))
    } catch (error) {
      this.options.screen.tell(`✗ ${(await troubleOf(error)).message}\n`, red)
    }
  }

  /** Plays a turn, then those that its questions lead to. */
  async play(turn: Turn): Promise<void> {
    const { screen } = this.options
    for (let next: Turn | undefined = turn; next !== undefined && this.#leaving === undefined; ) {
      const outcome = await this.#watch(next)
      if (outcome === undefined) break
      const isWrong = outcome.error?.code === 'invalid-answer'
      const requests = isWrong ? await this.agent.requests() : outcome.requests
      next = requests.length === 0 ? this.#nextSent(outcome.turn) : await this.#ask({ requests })
    }
    if (this.#leaving === undefined) screen.say(NOTHING)
  }

  /** The turn of something that was sent while another ran, unless that one has heard it. */
  #nextSent(told: number): Turn | undefined {
    const turn = this.#sent.shift()
    return turn !== undefined && turn.number === told ? this.#nextSent(told) : turn
  }

  /** Asks what the conversation waits for, if it does. */
  async answerOpen(): Promise<boolean> {
    const requests = await this.agent.requests()
    if (requests.length === 0) return false
    const turn = await this.#ask({ requests })
    if (turn === undefined) this.say(NOTHING)
    else await this.play(turn)
    return true
  }

  /** Goes on with another conversation, agent or model. */
  async move(id: string, ready: ReadyAgent = this.ready, agent?: Agent): Promise<void> {
    const next = agent ?? agentFor(ready, id, this.options.store)
    const isSame = id === this.id && ready.name === this.ready.name
    await this.agent.shutdown()
    this.ready = ready
    this.id = id
    this.agent = next
    await this.#enter(isSame)
  }

  say(text: Styled): void {
    this.options.screen.say(text)
  }

  get #key(): ContextKey {
    return keyOf({ agent: this.ready.name, id: this.id })
  }

  leave(exitCode: number = EXIT.done): void {
    this.#leaving ??= exitCode
  }

  /** Shows where the conversation stands, and goes on with what was left open. */
  async #enter(isSame = false): Promise<void> {
    const { workspace, screen } = this.options
    workspace.rememberContext(this.ready.name, this.id)
    const { choice, name } = this.ready
    this.say(dim(`${name} · ${choice.name} · ${this.id}`))
    if (choice.why !== undefined) screen.tell(`${choice.name}: ${choice.why}`, dim)
    this.say(NOTHING)
    if (!isSame) await this.#recall()
    await this.options.entered(name)
    await this.agent.start()
    const { turn } = this.agent
    if (turn !== undefined) {
      this.say(dim('— going on with what was left open'))
      await this.play(turn)
    } else await this.answerOpen()
  }

  /** The last few turns, in short. */
  async #recall(): Promise<void> {
    const { store, screen } = this.options
    const look = { columns: screen.columns, shortTo: LINES_AT_START }
    const last = await readLast(store, this.#key, SHOWN_AT_START)
    for (const exchange of last) this.say(styled`${joinLines(exchangeLines(exchange, look))}\n`)
  }

  #nextWaiting(): string | undefined {
    const text = this.#waiting.shift()
    if (text !== undefined) this.#sayOwn(text)
    return text
  }

  /** What the person said, in its place. */
  #sayOwn(text: string): void {
    this.say(styled`${cyan('›')} ${prose(text)}`)
  }

  async #readMessage(): Promise<string | undefined> {
    const { editor, workspace } = this.options
    const lines: string[] = []
    for (;;) {
      const prompt = lines.length === 0 ? styled`${cyan('›')} ` : styled`${dim('…')} `
      const typed = await editor.read({ prompt })
      if (typed.type === 'end') this.say(NOTHING)
      if (typed.type === 'interrupt' && this.#staysAfterInterrupt(lines)) continue
      if (typed.type !== 'line') return undefined
      const isOpen = /(^|[^\\])(\\\\)*\\$/.test(typed.text)
      lines.push(isOpen ? typed.text.slice(0, -1) : typed.text)
      if (isOpen) continue
      const text = editor.expand(lines.join('\n')).trim()
      lines.length = 0
      if (text === '') continue
      this.#isInterrupted = false
      remember(workspace.historyPath, text)
      return text
    }
  }

  /** Ctrl-C at the prompt: drops the lines so far, or says how to leave. */
  #staysAfterInterrupt(lines: string[]): boolean {
    if (lines.length > 0) {
      lines.length = 0
      return true
    }
    if (this.#isInterrupted) return false
    this.#isInterrupted = true
    this.say(dim('Ctrl-C once more, or Ctrl-D, leaves.'))
    return true
  }

  /** Tells a turn as it goes. Undefined if the person left in the middle of it. */
  async #watch(turn: Turn): Promise<TurnOutcome | undefined> {
    const { screen, editor } = this.options
    const printer = new TurnPrinter({
      screen,
      now: () => performance.now(),
      typed: () => editor.line,
      waiting: () => this.#waiting,
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
      printer.announce('cancelling; Ctrl-C once more leaves')
      turn.cancel('Ctrl-C').catch(() => {})
    }
    const interrupt = () => (isCancelled ? leave(EXIT.cancelled) : cancel())
    editor.behind((typed) => this.#hearBehind(typed, { cancel, interrupt, leave }))
    printer.know(await waitingCalls(this.options.store, this.#key))
    printer.start()
    const outcome = await Promise.race([tell(turn, printer), left.promise])
    if (outcome === undefined) {
      printer.stop()
      if (!isCancelled) screen.tell('— left open; holdfast chat goes on with it', dim)
    } else printer.end(outcome)
    editor.behind(undefined)
    if (isCancelled) this.#giveBack()
    return outcome
  }

  /** Something was typed while a turn runs. */
  #hearBehind(typed: Typed, { cancel, interrupt, leave }: Running): void {
    const { editor, workspace } = this.options
    if (typed.type !== 'line') {
      if (typed.type === 'interrupt') interrupt()
      else leave()
      return
    }
    const text = editor.expand(typed.text).trim()
    if (text === '') return
    remember(workspace.historyPath, text)
    if (text === '/cancel') cancel()
    else if (text === '/exit') leave()
    else if (this.#isQueueing || text.startsWith('/')) this.#waiting.push(text)
    else {
      this.#sayOwn(text)
      this.#sent.push(this.agent.executeTurn(text))
    }
  }

  /** Agents that steer or interrupt hear at once; for the others messages wait here, behind the questions of the turn. */
  get #isQueueing(): boolean {
    const { whileBusy = 'queue' } = this.ready.definition
    return whileBusy === 'queue'
  }

  /** Whoever cancels, or does not answer, may not want what was to follow: it is on the line again, to be sent or not. */
  #giveBack(): void {
    const text = this.#waiting.splice(0).join(' ')
    if (text !== '') this.options.editor.prefill(text)
  }

  /** The turn that goes on with the answers; undefined if they come later. */
  async #ask({ requests }: Pick<TurnOutcome, 'requests'>): Promise<Turn | undefined> {
    const { screen, editor, store } = this.options
    const key = this.#key
    const asking: Asking = { screen, editor, askedBy: (request) => askedBy(store, key, request) }
    const needed = requests.find(({ from }) => from === 'credentials')
    const credentials = needed === undefined ? undefined : await askCredentials(needed, asking)
    const auth: { auth?: Auth } = credentials === undefined ? {} : { auth: { credentials } }
    const questions = requests.filter((request) => request !== needed)
    const answers =
      needed !== undefined && credentials === undefined ? undefined : await askAll(questions, asking)
    if (answers === undefined) {
      screen.tell('— not answered; /answer asks again, a message goes on without', dim)
      this.#giveBack()
      return undefined
    }
    return questions.length === 0 ? this.agent.executeTurn(null, auth) : this.agent.answer(answers, auth)
  }

  /** Nobody waits for long when somebody leaves; the journal has everything. */
  async #letGo(): Promise<void> {
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(() => late.resolve(), LEAVE_MS)
    await Promise.race([this.agent.shutdown(), late.promise])
    clearTimeout(timer)
  }
}

/** What may be done to the turn that runs. */
interface Running {
  readonly cancel: () => void
  /** Cancels it; a second time, leaves. */
  readonly interrupt: () => void
  readonly leave: () => void
}

async function tell(turn: Turn, printer: TurnPrinter): Promise<TurnOutcome> {
  for await (const event of turn) printer.event(event)
  return turn.outcome
}
