/** Several real processes on one SQLite file: who drives, who follows, who takes over, and what is done once (R1 to R4). */
import { type ChildProcess, fork } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { transcript } from '../../src/journal/index.ts'
import { type Entry, LOCAL_OWNER } from '../../src/protocol/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { programFile } from '../build/programs.ts'
import { PATIENCE_MS } from '../patience.ts'
import { problemsOf } from './checks.ts'
import type { Command, Report } from './child.ts'

const KEY = { ...LOCAL_OWNER, contextId: 'talk' }
const CHILD = programFile('test/recovery/child.ts')
let folder = ''
const living = new Set<Child>()

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-processes-'))
  // Who makes the file is not what these tests are about.
  await sqliteStore(join(folder, 'store.db')).close()
})

afterEach(async () => {
  for (const one of living) await one.kill()
  rmSync(folder, { recursive: true, force: true })
})

type Of<W extends Report['what']> = Extract<Report, { what: W }>

class Child {
  readonly #process: ChildProcess
  readonly #reports: Report[] = []
  readonly #exited: Promise<unknown>
  #trouble = ''
  #wake = Promise.withResolvers<void>()

  constructor() {
    this.#process = fork(CHILD, [join(folder, 'store.db'), join(folder, 'log')], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#exited = new Promise((resolve) => this.#process.once('exit', resolve))
    this.#process.stderr?.on('data', (text: Buffer) => {
      this.#trouble += text.toString()
    })
    this.#process.on('message', (report: Report) => {
      this.#reports.push(report)
      this.#wake.resolve()
      this.#wake = Promise.withResolvers<void>()
    })
    living.add(this)
  }

  send(command: Command): void {
    this.#process.send(command)
  }

  say(text: string, options: { whileBusy?: 'queue' | 'steer' | 'interrupt' | 'reject' } = {}): void {
    this.send({ do: 'say', text, options })
  }

  async hear<W extends Report['what']>(
    what: W,
    test: (report: Of<W>) => boolean = () => true,
  ): Promise<Of<W>> {
    const until = Date.now() + PATIENCE_MS
    for (;;) {
      const found = this.#reports.find((report) => report.what === what && test(report as Of<W>))
      if (found !== undefined) return found as Of<W>
      if (Date.now() > until || this.#process.exitCode !== null)
        throw new Error(
          `never heard ${what}, only ${JSON.stringify(this.#reports.slice(-8))}${this.#trouble}`,
        )
      await Promise.race([this.#wake.promise, sleep(1000)])
    }
  }

  outcome(of: string): Promise<Of<'outcome'>> {
    return this.hear('outcome', (report) => report.of === of)
  }

  async kill(): Promise<void> {
    living.delete(this)
    this.#process.kill('SIGKILL')
    await this.#exited
  }
}

async function child(): Promise<Child> {
  const started = new Child()
  await started.hear('ready')
  return started
}

/** A process in the middle of a tool, and another one that has seen it. */
async function holder(): Promise<{ a: Child; b: Child }> {
  const [a, b] = await Promise.all([child(), child()])
  a.say('hold on')
  await a.hear('holding')
  return { a, b }
}

async function journal(): Promise<readonly Entry[]> {
  const store = sqliteStore(join(folder, 'store.db'))
  const entries = await store.read(KEY)
  await store.close()
  expect([...problemsOf({ talk: entries }, effects())]).toEqual([])
  return entries
}

/** Each line of the log is one effect. */
function effects() {
  const log = join(folder, 'log')
  const lines = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []
  return lines.map((callId) => ({ process: '', tool: '', callId, key: callId }))
}

function told(entries: readonly Entry[]): string[] {
  return transcript(entries).map((message) => {
    if (message.role === 'user') return `user ${message.content as string}`
    if (message.role === 'tool') return `tool ${message.content.map(({ status }) => status).join(' ')}`
    return message.content
      .map((part) => (part.type === 'tool-call' ? `call ${part.tool}` : part.text))
      .join(' ')
  })
}

it('a turn killed in the middle of a tool goes on in another process, and the tool does not run again', async () => {
  const { a, b } = await holder()
  await a.kill()
  b.send({ do: 'start' })
  expect(await b.outcome('start')).toMatchObject({ reason: 'stop', turn: 1, text: 'You said hold on.' })
  expect(told(await journal())).toEqual(['user hold on', 'call hold', 'tool unknown', 'You said hold on.'])
  expect(effects()).toHaveLength(1)
})

it('a cancel from another process reaches a running tool', async () => {
  const { a, b } = await holder()
  b.send({ do: 'cancel' })
  await a.hear('aborted')
  expect(await a.outcome('hold on')).toMatchObject({ reason: 'cancelled' })
  expect((await journal()).at(-1)).toMatchObject({ type: 'turn.end', data: { outcome: 'cancelled' } })
})

it('a message that is queued from another process becomes the next turn, once, and its sender sees it', async () => {
  const { a, b } = await holder()
  b.say('and then', { whileBusy: 'queue' })
  await b.hear('entry', ({ type }) => type === 'input')
  a.send({ do: 'let go' })
  expect(await b.outcome('and then')).toMatchObject({ reason: 'stop', turn: 2, text: 'You said and then.' })
  const entries = await journal()
  // The owner goes on, unless it takes longer than a heartbeat to claim again.
  expect(told(entries).slice(-2)).toEqual(['user and then', 'You said and then.'])
  expect(told(entries).filter((line) => line === 'user and then')).toHaveLength(1)
})

it('a message that steers from another process is heard by the turn that runs', async () => {
  const { a, b } = await holder()
  b.say('hurry', { whileBusy: 'steer' })
  await b.hear('entry', ({ type }) => type === 'input')
  a.send({ do: 'let go' })
  expect(await b.outcome('hurry')).toMatchObject({ reason: 'stop', turn: 1, text: 'You said hurry.' })
  expect(await a.outcome('hold on')).toMatchObject({ reason: 'stop', turn: 1, text: 'You said hurry.' })
  expect(told(await journal())).toEqual([
    'user hold on',
    'call hold',
    'tool ok',
    'user hurry',
    'You said hurry.',
  ])
})

it('a message that interrupts from another process ends the turn that runs and begins the next', async () => {
  const { a, b } = await holder()
  b.say('stop that', { whileBusy: 'interrupt' })
  expect(await a.outcome('hold on')).toMatchObject({ reason: 'cancelled', turn: 1 })
  expect(await b.outcome('stop that')).toMatchObject({ reason: 'stop', turn: 2 })
  expect(told(await journal()).slice(-2)).toEqual(['user stop that', 'You said stop that.'])
})

it('a message that must not wait is refused while another process is busy, and nothing is stored', async () => {
  const { a, b } = await holder()
  b.say('now', { whileBusy: 'reject' })
  expect(await b.outcome('now')).toMatchObject({ reason: 'failed', code: 'busy' })
  a.send({ do: 'let go' })
  await a.outcome('hold on')
  expect(told(await journal())).not.toContain('user now')
})

it('whoever waits for its turn takes over when the owner is killed', async () => {
  const { a, b } = await holder()
  b.say('and then', { whileBusy: 'queue' })
  await b.hear('entry', ({ type }) => type === 'input')
  await a.kill()
  expect(await b.outcome('and then')).toMatchObject({ reason: 'stop', turn: 2, text: 'You said and then.' })
  expect(told(await journal())).toEqual([
    'user hold on',
    'call hold',
    'tool unknown',
    'You said hold on.',
    'user and then',
    'You said and then.',
  ])
  expect(effects()).toHaveLength(1)
})

it('two processes that begin at the same time get a turn each, one after the other', async () => {
  const [a, b] = await Promise.all([child(), child()])
  for (let round = 1; round <= 5; round++) {
    a.say(`a${round}`)
    b.say(`b${round}`)
    const ends = await Promise.all([a.outcome(`a${round}`), b.outcome(`b${round}`)])
    expect(ends.map(({ reason }) => reason)).toEqual(['stop', 'stop'])
    expect(ends.map(({ turn }) => turn).sort((one, other) => one - other)).toEqual([2 * round - 1, 2 * round])
    expect(ends.map(({ text }) => text)).toEqual([`You said a${round}.`, `You said b${round}.`])
  }
  expect(told(await journal())).toHaveLength(20)
})

it('an answer given in another process goes on there, whether or not the asker lives', async () => {
  const [a, b] = await Promise.all([child(), child()])
  a.say('ask me')
  expect(await a.outcome('ask me')).toMatchObject({ reason: 'input-required' })
  b.send({ do: 'answer', value: 'the left one' })
  expect(await b.outcome('answer')).toMatchObject({ reason: 'stop', turn: 2, text: 'You said ask me.' })
  a.say('ask again')
  expect(await a.outcome('ask again')).toMatchObject({ reason: 'input-required', turn: 3 })
  await a.kill()
  const c = await child()
  c.send({ do: 'answer', value: 'the right one' })
  expect(await c.outcome('answer')).toMatchObject({ reason: 'stop', turn: 4 })
  const outputs = (await journal())
    .filter(({ type }) => type === 'tool.end')
    .map(({ data }) => data['output'])
  expect(outputs).toEqual([{ which: 'the left one' }, { which: 'the right one' }])
})
