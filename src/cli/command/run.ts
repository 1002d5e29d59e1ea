/** `holdfast run "…"`: one turn, for scripts. */

import type { Agent, ContextKey, RequestData, Store, Turn, TurnOutcome } from 'holdfast'
import { dim, joinLines, red, type Styled, styled, yellow } from 'holdfast/terminal'
import { answerOption, answersFrom } from '../answer.ts'
import { shellWord } from '../arguments.ts'
import { EXIT, exitCodeOf } from '../exit-code.ts'
import { withOrigin } from '../mcp-tools.ts'
import { messageFrom } from '../message.ts'
import { agentWith, findContext, idFrom, keyOf, type NamedContext, namedContext, timedId } from '../names.ts'
import { agentFor, type ReadyAgent, readyAgent } from '../open-agent.ts'
import { outcomeLine } from '../outcome-line.ts'
import { type Earlier, readEarlier } from '../read-exchanges.ts'
import { exitCodeFor, failureText, wrongUsage } from '../refusal.ts'
import { type RequestSource, requestSource } from '../request-source.ts'
import { isTask } from '../task/task-options.ts'
import { optionLines, questionOf } from '../terminal/question-lines.ts'
import { oneLine } from '../terminal/text.ts'
import type { Workspace } from '../workspace.ts'
import { type CommandContext, optionsAgain, workspaceOf } from './context.ts'
import { type Interrupted, watchSignals } from './interruption.ts'
import { type RunPrinter, runPrinter } from './run-printer.ts'

export async function run(context: CommandContext): Promise<number> {
  const { args, env, stdin } = context
  const mode = modeOf(context)
  const message = mode === 'message' ? await messageFrom(args.words, stdin) : undefined
  const workspace = await workspaceOf(context)
  if (mode !== 'message') refuseTask(args.value('context') ?? '', mode, workspace)
  const found = await contextOf(context, { workspace, isNew: mode === 'message' })
  const ready = await readyAgent(workspace, { agent: found.agent, model: args.value('model'), env })
  const id = found.id ?? idFrom(args.value('context'), ready.name) ?? timedId('run')
  const key = keyOf({ agent: ready.name, id })
  if (mode !== 'message') await workspace.peek((store) => findContext(store, key.contextId, { agents: [] }))
  const store = workspace.openStore('create')
  try {
    const agent = agentFor(ready, id, { store })
    const reporter = new RunReporter(context, { ready, id, key, store })
    reporter.addEarlier(await readEarlier(store, key))
    const turn = await turnFor(agent, { message, answers: args.values('answer') })
    return await reporter.report(agent, turn)
  } finally {
    await Promise.all([store.close(), workspace.mcp?.close()])
  }
}

/** The conversation of `--context`: an id names an existing one of any agent, or a new one of the default agent. */
async function contextOf(
  { args }: CommandContext,
  { workspace, isNew }: { readonly workspace: Workspace; readonly isNew: boolean },
): Promise<Partial<NamedContext>> {
  const [name, agent] = [args.value('context'), args.value('agent')]
  if (name === undefined || agent !== undefined) return agent === undefined ? {} : { agent }
  const agents = Object.keys(workspace.agents)
  const named = namedContext(name, agents)
  if (named !== undefined || isNew || name.includes('/')) return named ?? {}
  return (await workspace.peek((store) => agentWith(store, name, agents))) ?? {}
}

type RunMode = 'message' | 'answer' | 'continue'

function modeOf({ args }: CommandContext): RunMode {
  const answers = args.has('answer')
  const continues = args.has('continue')
  if (!answers && !continues) return 'message'
  const option = answers ? '--answer' : '--continue'
  if (answers && continues) throw wrongUsage('Leave --continue out: --answer continues the turn.')
  if (args.words.length > 0) throw wrongUsage(`${option} takes no message. Leave one of them out.`)
  if (!args.has('context')) throw wrongUsage(`${option} needs --context ID.`)
  return answers ? 'answer' : 'continue'
}

/** A task has a command of its own. */
function refuseTask(name: string, mode: RunMode, { folder }: Workspace): void {
  const id = name.replace(/^task:/, '')
  if (!isTask(folder, id)) return
  const continueTurn = `holdfast task --continue ${id}${mode === 'answer' ? ' --answer …' : ''}`
  throw wrongUsage(`${id} is a task. Type: ${continueTurn}`)
}

interface TurnInput {
  readonly message: string | undefined
  readonly answers: readonly string[]
}

async function turnFor(agent: Agent, { message, answers }: TurnInput): Promise<Turn> {
  if (message !== undefined) return agent.executeTurn(message)
  if (answers.length > 0) {
    const requests = await agent.requests()
    if (requests.length === 0) throw wrongUsage('Nothing waits for an answer in this conversation.')
    return agent.answer(answersFrom(requests, answers))
  }
  await agent.start()
  return agent.turn ?? agent.executeTurn(null)
}

interface Conversation {
  readonly ready: ReadyAgent
  readonly id: string
  readonly key: ContextKey
  readonly store: Store
}

/** Prints a turn and its outcome, as text or as lines of JSON. */
class RunReporter {
  readonly #context: CommandContext
  readonly #of: Conversation
  readonly #printer: RunPrinter
  readonly #isJson: boolean

  constructor(context: CommandContext, of: Conversation) {
    this.#context = context
    this.#of = of
    this.#isJson = context.args.has('json')
    this.#printer = this.#isJson ? SILENT : runPrinter(context, of.ready.mcp?.originOf)
  }

  addEarlier(earlier: Earlier): void {
    this.#printer.addEarlier(earlier)
  }

  async report(agent: Agent, turn: Turn): Promise<number> {
    const watch = watchSignals(agent, turn)
    this.#introduce()
    this.#printer.start()
    const ended = this.#printEvents(turn)
    const result = await Promise.race([ended, watch.parked])
    if ('signal' in result) return this.#reportParked(result)
    watch.stop()
    const outcome = await this.#inCommands(agent, result)
    await agent.shutdown()
    const { store, key, ready } = this.#of
    const found = await Promise.all(outcome.requests.map((request) => requestSource(store, key, request)))
    const sources = found.map((source) => withOrigin(source, ready.mcp))
    return this.#end(exitCodeAfter(outcome), outcome, this.#advice(outcome, sources))
  }

  /** The error of the API names its functions; a person types a message or an answer. */
  async #inCommands(agent: Agent, outcome: TurnOutcome): Promise<TurnOutcome> {
    const { error } = outcome
    if (error?.code !== 'nothing-to-continue') return outcome
    const requests = await agent.requests()
    const message =
      requests.length === 0
        ? `There is nothing to continue. To send a message: ${this.#command('"…"')}`
        : `There is nothing to continue: ${this.#of.id} waits for an answer.`
    return { ...outcome, requests, error: { ...error, message } }
  }

  async #printEvents(turn: Turn): Promise<TurnOutcome> {
    for await (const event of turn) {
      if (this.#isJson) this.#context.out.json(event)
      else this.#printer.event(event)
    }
    return turn.outcome
  }

  #introduce(): void {
    const { ready, id } = this.#of
    const { name, choice } = ready
    const why = choice.why === undefined ? '' : ` (${choice.why})`
    this.#printer.note(dim(`${name} · ${choice.name}${why} · ${id}`))
  }

  /** Prints the outcome, for programs or for people. */
  #end(exitCode: number, outcome: object, lines: readonly Styled[]): number {
    const { id, ready } = this.#of
    const of = { contextId: id, agent: ready.name }
    if (this.#isJson) this.#context.out.json(outcomeLine({ ...of, exitCode, ...outcome }))
    this.#printer.end()
    for (const line of lines) this.#printer.note(line)
    return exitCode
  }

  /** The outcome for people, and the next command to type. */
  #advice(
    { reason, error, limit, requests, turn }: TurnOutcome,
    sources: readonly RequestSource[],
  ): Styled[] {
    const continueTurn = this.#command('--continue')
    if (reason === 'failed') {
      const next = turn === 0 ? this.#questions(requests, sources) : [dim(`  to try again: ${continueTurn}`)]
      return [red(`✗ ${oneLine(failureText(error))}`), ...next]
    }
    if (reason === 'cancelled') return [dim('— cancelled')]
    if (reason === 'max-iterations' || reason === 'limit')
      return [
        yellow(`! stopped by the limit on ${limit ?? 'iterations'}`),
        dim(`  to go on: ${continueTurn}`),
      ]
    return this.#questions(requests, sources)
  }

  #questions(requests: readonly RequestData[], sources: readonly RequestSource[]): Styled[] {
    const { err } = this.#context
    const look = { columns: (err.isTTY && err.columns) || 80, rows: (err.isTTY && err.rows) || 24 }
    return requests.map((request, at) =>
      joinLines([
        ...questionOf(request, sources[at] ?? { tools: [] }, look).lines,
        ...optionLines(request, look.columns),
        dim(`  ${this.#wayToAnswer(request, requests.length === 1)}`),
      ]),
    )
  }

  #wayToAnswer(request: RequestData, isOnly: boolean): string {
    if (request.from === 'credentials')
      return `to go on: give the agent \`credentials\` in the config, then ${this.#command('--continue')}`
    return `to answer: ${this.#command(answerOption(request, isOnly))}`
  }

  #reportParked({ signal, parking }: Interrupted): number {
    const exitCode = signal === 'SIGTERM' ? EXIT.terminated : EXIT.hungUp
    const what = parking === 'paused' ? 'paused' : 'left open; the next run resumes it'
    const advice = styled`${what}. To go on: ${this.#command('--continue')}`
    return this.#end(exitCode, { status: 'paused', reason: parking }, [advice])
  }

  #command(rest: string): string {
    const options = optionsAgain(this.#context, ['config', 'agent', 'model', 'mcp'])
    const name = this.#context.args.value('context') ?? this.#of.id
    return ['holdfast run', ...options, `--context ${shellWord(name)}`, rest].join(' ')
  }
}

/** A refused turn has the code of its error; any other that of its outcome. */
function exitCodeAfter({ turn, reason, error }: TurnOutcome): number {
  if (turn > 0 || error === undefined) return exitCodeOf(reason)
  return error.code === 'invalid-answer' ? EXIT.usage : exitCodeFor(error.code)
}

const SILENT: RunPrinter = {
  addEarlier: () => {},
  start: () => {},
  event: () => {},
  note: () => {},
  end: () => {},
}
