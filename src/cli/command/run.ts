/** `holdfast run "…"`: one turn, for scripts. */
import { randomUUID } from 'node:crypto'
import type { Agent, ContextKey, Json, RequestData, Store, Turn, TurnOutcome } from 'holdfast'
import { answerFrom } from '../answer.ts'
import { type AskedBy, askedBy } from '../asked-by.ts'
import { EXIT, exitCodeOf } from '../exit-code.ts'
import { dim, joinLines, red, type Styled, styled, yellow } from '../gate/styled.ts'
import { messageFrom } from '../message.ts'
import { agentWith, findContext, idFrom, keyOf, type NamedContext, namedContext } from '../names.ts'
import { agentFor, type ReadyAgent, readyAgent } from '../open-agent.ts'
import { outcomeLine } from '../outcome-line.ts'
import { waitingCalls } from '../read-exchanges.ts'
import { exitCodeFor, wrongUsage } from '../refusal.ts'
import { optionLines, questionOf } from '../terminal/question-lines.ts'
import { oneLine } from '../terminal/text.ts'
import type { KnownCall } from '../terminal/turn-printer.ts'
import type { Workspace } from '../workspace.ts'
import { type CommandContext, workspaceOf } from './context.ts'
import { type Interrupted, watchSignals } from './interruption.ts'
import { type RunPrinter, runPrinter } from './run-printer.ts'

export async function run(context: CommandContext): Promise<number> {
  const { given, env, stdin } = context
  const wish = wishOf(context)
  const message = wish === 'message' ? await messageFrom(given.words, stdin) : undefined
  const workspace = await workspaceOf(context)
  const found = await contextSaid(context, { workspace, isNew: wish === 'message' })
  const ready = await readyAgent(workspace, { agent: found.agent, model: given.value('model'), env })
  const id = found.id ?? idFrom(given.value('context'), ready.name) ?? newId()
  const key = keyOf({ agent: ready.name, id })
  if (wish !== 'message') await mustExist(workspace.openStore('read'), key.contextId)
  const store = workspace.openStore('create')
  try {
    const agent = agentFor(ready, id, store)
    const teller = new Teller(context, { ready, id, key, store })
    teller.know(await waitingCalls(store, key))
    const turn = await turnFor(agent, { message, answers: given.values('answer') })
    return await teller.tell(agent, turn)
  } finally {
    await store.close()
  }
}

/** Whose conversation `--context` names: an id alone names an existing one of any agent, and a new one of the default agent. */
async function contextSaid(
  { given }: CommandContext,
  { workspace, isNew }: { readonly workspace: Workspace; readonly isNew: boolean },
): Promise<Partial<NamedContext>> {
  const [said, agent] = [given.value('context'), given.value('agent')]
  if (said === undefined || agent !== undefined) return agent === undefined ? {} : { agent }
  const agents = Object.keys(workspace.agents)
  const named = namedContext(said, agents)
  if (named !== undefined || isNew || said.includes('/')) return named ?? {}
  const store = workspace.openStore('read')
  try {
    return (await agentWith(store, said, agents)) ?? {}
  } finally {
    await store?.close()
  }
}

type WishKind = 'message' | 'answer' | 'continue'

function wishOf({ given }: CommandContext): WishKind {
  const answers = given.has('answer')
  const continues = given.has('continue')
  if (!answers && !continues) return 'message'
  const option = answers ? '--answer' : '--continue'
  if (answers && continues) throw wrongUsage('--answer goes on by itself: leave --continue out.')
  if (given.words.length > 0) throw wrongUsage(`${option} goes without a message. Leave one of them out.`)
  if (!given.has('context')) throw wrongUsage(`${option} needs --context ID: which conversation is meant?`)
  return answers ? 'answer' : 'continue'
}

/** Unlike any other, and in the order of time. */
function newId(): string {
  const time = new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')
  return `run-${time}-${randomUUID().slice(0, 4)}`
}

async function mustExist(store: Store | undefined, contextId: string): Promise<void> {
  try {
    await findContext(store, contextId, [])
  } finally {
    await store?.close()
  }
}

interface Asked {
  readonly message: string | undefined
  readonly answers: readonly string[]
}

async function turnFor(agent: Agent, { message, answers }: Asked): Promise<Turn> {
  if (message !== undefined) return agent.executeTurn(message)
  if (answers.length > 0) return agent.answer(await answersFrom(agent, answers))
  await agent.start()
  return agent.turn ?? agent.executeTurn(null)
}

async function answersFrom(agent: Agent, given: readonly string[]): Promise<Record<string, Json>> {
  const requests = await agent.requests()
  if (requests.length === 0) throw wrongUsage('Nothing waits for an answer in this conversation.')
  const open = requests.map(({ requestId, prompt }) => `\n  ${requestId}  ${oneLine(prompt)}`).join('')
  const waiting = `Waiting:${open}`
  const pairs = given.map((text): [string, Json] => {
    const only = requests.length === 1 ? (requests[0]?.requestId ?? '') : ''
    const [, id = only, value = text] = /^([^=]+)=(.*)$/s.exec(text) ?? []
    if (id === '') throw wrongUsage(`--answer ${JSON.stringify(text)} must be ID=VALUE. ${waiting}`)
    const request = requests.find(({ requestId }) => requestId === id)
    if (request === undefined) throw wrongUsage(`Nothing waits for ${JSON.stringify(id)}. ${waiting}`)
    return [id, answerFrom(request, value)]
  })
  return Object.fromEntries(pairs)
}

interface Conversation {
  readonly ready: ReadyAgent
  readonly id: string
  readonly key: ContextKey
  readonly store: Store
}

/** A word as a shell takes it: what is printed may be copied. */
function shellWord(word: string): string {
  return /^[\w./:@%+~,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** Tells a turn to whoever reads the output, as text or as lines of JSON. */
class Teller {
  readonly #context: CommandContext
  readonly #of: Conversation
  readonly #printer: RunPrinter
  readonly #isJson: boolean

  constructor(context: CommandContext, of: Conversation) {
    this.#context = context
    this.#of = of
    this.#isJson = context.given.has('json')
    this.#printer = this.#isJson ? SILENT : runPrinter(context)
  }

  /** Calls that an earlier turn left waiting. */
  know(calls: readonly KnownCall[]): void {
    this.#printer.know(calls)
  }

  async tell(agent: Agent, turn: Turn): Promise<number> {
    const watch = watchSignals(agent, turn)
    this.#introduce()
    this.#printer.start()
    const ended = this.#play(turn)
    const result = await Promise.race([ended, watch.parked])
    if ('signal' in result) return this.#tellParked(result)
    watch.stop()
    await agent.shutdown()
    const { store, key } = this.#of
    const asked = await Promise.all(result.requests.map((request) => askedBy(store, key, request)))
    return this.#end(exitCodeAfter(result), result, this.#advice(result, asked))
  }

  async #play(turn: Turn): Promise<TurnOutcome> {
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

  /** The same end for programs and for people. */
  #end(exitCode: number, outcome: object, lines: readonly Styled[]): number {
    const { id, ready } = this.#of
    const of = { contextId: id, agent: ready.name }
    if (this.#isJson) this.#context.out.json(outcomeLine({ ...of, exitCode, ...outcome }))
    this.#printer.end()
    for (const line of lines) this.#printer.note(line)
    return exitCode
  }

  /** How it ended, and what to do next. */
  #advice({ reason, error, limit, requests, turn }: TurnOutcome, asked: readonly AskedBy[]): Styled[] {
    const goOn = this.#command('--continue')
    if (reason === 'failed') {
      const again = turn === 0 ? [] : [dim(`  to try again: ${goOn}`)]
      return [red(`✗ ${oneLine(error?.message ?? 'The turn failed.')}`), ...again]
    }
    if (reason === 'cancelled') return [dim('— cancelled')]
    if (reason === 'max-iterations' || reason === 'limit')
      return [yellow(`! stopped by the limit on ${limit ?? 'iterations'}`), dim(`  to go on: ${goOn}`)]
    const { err } = this.#context
    const look = { columns: (err.isTTY && err.columns) || 80, rows: (err.isTTY && err.rows) || 24 }
    return requests.map((request, at) =>
      joinLines([
        ...questionOf(request, asked[at] ?? { tools: [] }, look).lines,
        ...optionLines(request, look.columns),
        dim(`  ${this.#wayToAnswer(request, requests.length === 1)}`),
      ]),
    )
  }

  #wayToAnswer({ from, kind, requestId }: RequestData, isOnly: boolean): string {
    if (from === 'credentials')
      return `to go on: give the agent \`credentials\` in the config, then ${this.#command('--continue')}`
    const isShort = kind === 'confirmation' && isOnly
    return `to answer: ${this.#command(isShort ? '--answer yes' : `--answer ${shellWord(`${requestId}=${hintFor(kind)}`)}`)}`
  }

  #tellParked({ signal, parking }: Interrupted): number {
    const exitCode = signal === 'SIGTERM' ? EXIT.terminated : EXIT.hungUp
    const what = parking === 'paused' ? 'paused' : 'left in the middle; it will be taken up where it stands'
    const advice = styled`${what}. To go on: ${this.#command('--continue')}`
    return this.#end(exitCode, { status: 'paused', reason: parking }, [advice])
  }

  #command(rest: string): string {
    const { given } = this.#context
    const options = ['config', 'agent', 'model'].flatMap((option) => {
      const value = given.value(option)
      return value === undefined ? [] : [`--${option} ${shellWord(value)}`]
    })
    const name = given.value('context') ?? this.#of.id
    return ['holdfast run', ...options, `--context ${shellWord(name)}`, rest].join(' ')
  }
}

/** What never began has the code of its reason; the rest has that of its outcome. */
function exitCodeAfter({ turn, reason, error }: TurnOutcome): number {
  if (turn > 0 || error === undefined) return exitCodeOf(reason)
  return error.code === 'invalid-answer' ? EXIT.usage : exitCodeFor(error.code)
}

const SILENT: RunPrinter = { know: () => {}, start: () => {}, event: () => {}, note: () => {}, end: () => {} }

function hintFor(kind: string): string {
  if (kind === 'confirmation') return 'yes'
  return kind === 'data' ? '{"…":"…"}' : '…'
}
