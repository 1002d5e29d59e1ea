/** `holdfast research "…"`: a question to documents and the web, answered with citations. */
import type { Store } from 'holdfast'
import type { GraphEvent, GraphOutcome } from 'holdfast/graph'
import {
  answerOf,
  type ResearchAnswer,
  type ResearchChannels,
  type ResearchGraph,
  researchAssistant,
} from 'holdfast/research'
import { dim, NOTHING, prose, red, type Styled, styled, yellow } from 'holdfast/terminal'
import { shellWord } from '../arguments.ts'
import { type CommandContext, columnsOf, optionsAgain, workspaceOf } from '../command/context.ts'
import { endAtSignals } from '../command/interruption.ts'
import { EXIT, exitCodeOf } from '../exit-code.ts'
import { FOREIGN } from '../gate/outputs.ts'
import { messageFrom } from '../message.ts'
import { idFrom, keyOf, timedId } from '../names.ts'
import { outcomeLine } from '../outcome-line.ts'
import { wrongUsage } from '../refusal.ts'
import { Screen } from '../terminal/screen.ts'
import { oneLine } from '../terminal/text.ts'
import { closeCorpus, openResearch, RESEARCH } from './open-research.ts'
import { ResearchPrinter, sourceLines, summaryLine } from './research-printer.ts'

export async function askQuestion(context: CommandContext): Promise<number> {
  const { args, stdin } = context
  const continues = args.has('continue')
  if (continues && !args.has('context')) throw wrongUsage('--continue needs --context ID.')
  if (continues && args.words.length > 0)
    throw wrongUsage('--continue takes no question. Leave one of them out.')
  if (!continues && args.words.length === 0) throw wrongUsage('Write your question: holdfast research "…".')
  const question = continues ? null : await messageFrom(args.words, stdin)
  const workspace = await workspaceOf(context)
  const id = idFrom(args.value('context'), RESEARCH) ?? timedId(RESEARCH)
  const { contextId } = keyOf({ agent: RESEARCH, id })
  const { options, model, corpus } = await openResearch(context, workspace, args.value('agent'))
  let store: Store | undefined
  try {
    store = workspace.openStore('create')
    const graph = researchAssistant({ ...options, store })
    const session = new ResearchSession(context, { graph, contextId, id })
    session.announce(model)
    return await untilInterrupt(session, question)
  } finally {
    await Promise.all([store?.close(), closeCorpus(corpus)])
  }
}

/** The first Ctrl-C cancels the question, the second ends the process. */
async function untilInterrupt(session: ResearchSession, question: string | null): Promise<number> {
  let isCancelled = false
  const interrupt = () => {
    if (isCancelled) process.exit(EXIT.cancelled)
    isCancelled = true
    session.cancel()
  }
  const tidyUp = () => session.stop()
  process.on('SIGINT', interrupt).once('exit', tidyUp)
  const ignoreSignals = endAtSignals((exitCode) => session.leave(exitCode))
  try {
    return await session.ask(question)
  } finally {
    ignoreSignals()
    process.off('SIGINT', interrupt).off('exit', tidyUp)
  }
}

interface Asked {
  readonly graph: ResearchGraph
  readonly contextId: string
  readonly id: string
  /** The line to type in a chat to go on with an interrupted question. Default: a command of the shell. */
  readonly continueTurn?: string
}

/** One question at a terminal, in a pipe, or as lines of JSON. */
export class ResearchSession {
  readonly #context: CommandContext
  readonly #of: Asked
  readonly #screen: Screen | undefined
  readonly #printer: ResearchPrinter | undefined
  readonly #stop = new AbortController()

  constructor(context: CommandContext, of: Asked) {
    const { args, out, err } = context
    this.#context = context
    this.#of = of
    if (args.has('json')) return
    if (out.isTTY && err.isTTY) {
      const screen = new Screen(out)
      this.#screen = screen
      this.#printer = new ResearchPrinter({
        columns: screen.columns,
        print: (text) => screen.print(text),
        setLive: (lines) => screen.setLive(lines),
      })
    } else this.#printer = new ResearchPrinter({ columns: columnsOf(err), print: (text) => this.#note(text) })
  }

  announce(model: string): void {
    this.#note(dim(`${model} · ${this.#of.id}`))
  }

  /** Null goes on with the open question. Resolves to the exit code. */
  async ask(question: string | null): Promise<number> {
    const { graph, contextId } = this.#of
    const input = question === null ? null : { messages: [{ role: 'user' as const, content: question }] }
    const turn = graph.stream(input, { contextId, signal: this.#stop.signal })
    const endForeign = this.#showForeign()
    this.#printer?.start()
    try {
      for await (const event of turn) this.#show(event)
    } finally {
      this.stop()
      endForeign?.()
    }
    return this.#report(await turn.outcome)
  }

  cancel(): void {
    this.#stop.abort()
  }

  /** Prints that the question stays open. */
  leave(exitCode: number): void {
    const left = { contextId: this.#of.id, exitCode, status: 'paused', reason: 'left' }
    if (this.#printer === undefined) this.#context.out.json(outcomeLine(left))
    this.#note(styled`left open. To go on: ${this.#command('--continue')}`)
  }

  /** Removes the live lines. */
  stop(): void {
    this.#printer?.stop()
  }

  /** Output of searches goes above the live lines. */
  #showForeign(): (() => void) | undefined {
    const screen = this.#screen
    if (screen === undefined) return undefined
    return this.#context.foreign.showBy((line) => screen.print(styled`${FOREIGN}${line}`))
  }

  #show(event: GraphEvent): void {
    if (this.#printer === undefined) this.#context.out.json(event)
    else this.#printer.event(event)
  }

  #report({ state, reason, limit, error, status, turn }: GraphOutcome<ResearchChannels>): number {
    const answer = answerOf(state, this.#of.id)
    const isDone = status === 'completed' && limit === undefined
    const exitCode = exitCodeOfResearch(reason, isDone && answer.isClarification)
    if (this.#printer === undefined) {
      const failure = error === undefined ? {} : { error }
      const result = isDone ? answer : { contextId: this.#of.id, ...failure }
      const outcome = { exitCode, status, reason, ...result }
      this.#context.out.json(outcomeLine(outcome))
      return exitCode
    }
    if (isDone) this.#answer(answer)
    else
      this.#note(
        limit === undefined
          ? red(`✗ ${oneLine(error?.message ?? `It was ${reason}.`)}`)
          : yellow(`! stopped by the limit on ${limit}`),
      )
    const isRefused = turn === 0
    const goesOn = isDone || isRefused ? undefined : '--continue'
    const next = this.#next(isDone && answer.isClarification ? '"…"' : goesOn)
    if (next !== undefined) this.#note(dim(`  to go on: ${next}`))
    return exitCode
  }

  #answer(answer: ResearchAnswer): void {
    const { sources } = answer
    if (this.#screen === undefined) this.#context.out.write(styled`${prose(answer.answer)}\n`)
    else {
      this.#screen.print(NOTHING)
      this.#screen.printText(answer.answer)
    }
    if (sources.length > 0) {
      const lines = sourceLines(sources, this.#screen?.columns ?? columnsOf(this.#context.out))
      if (this.#screen === undefined) this.#context.out.write(styled`\n${lines}\n`)
      else this.#screen.print(styled`\n${lines}\n`)
    }
    this.#note(summaryLine(answer))
  }

  /** The command to type next; in a chat a reply needs none. */
  #next(rest: '"…"' | '--continue' | undefined): string | undefined {
    const { continueTurn } = this.#of
    if (rest === undefined || (continueTurn !== undefined && rest !== '--continue')) return undefined
    return continueTurn ?? this.#command(rest)
  }

  #command(rest: string): string {
    const options = optionsAgain(this.#context, ['config', 'agent', 'model', 'corpus', 'web'])
    return ['holdfast research', ...options, `--context ${shellWord(this.#of.id)}`, rest].join(' ')
  }

  /** A line for people. */
  #note(line: Styled): void {
    if (this.#screen !== undefined) this.#screen.print(line)
    else if (this.#printer !== undefined) this.#context.err.write(styled`${line}\n`)
  }
}

/** A clarification waits for an answer. */
function exitCodeOfResearch(reason: Parameters<typeof exitCodeOf>[0], asksBack: boolean): number {
  return asksBack ? EXIT.inputRequired : exitCodeOf(reason)
}
