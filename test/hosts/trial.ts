/** Two hosts in processes that call each other over A2A, killed at a point of a call; then what the caller and the world have. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Entry } from '../../src/protocol/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { programFile } from '../build/programs.ts'
import { PATIENCE_MS } from '../patience.ts'

/** The points of a call. Those of `answer` are of the message that answers the worker's question. */
export const POINTS = [
  'before-send',
  'after-send',
  'before-effect',
  'after-effect',
  'waiting',
  'answer before-send',
  'answer after-send',
] as const
export type Point = (typeof POINTS)[number]
export const VICTIMS = ['a', 'b', 'both'] as const
export type Victim = (typeof VICTIMS)[number]

type Name = 'a' | 'b'

export class Hosts {
  readonly #folder: string
  readonly #ports: Readonly<Record<Name, number>>
  readonly #children = new Map<Name, ChildProcess>()

  private constructor(folder: string, ports: Readonly<Record<Name, number>>) {
    this.#folder = folder
    this.#ports = ports
    mkdirSync(join(folder, 'holds'), { recursive: true })
  }

  static async start(folder: string): Promise<Hosts> {
    const hosts = new Hosts(folder, { a: await freePort(), b: await freePort() })
    await Promise.all([hosts.#start('a'), hosts.#start('b')])
    return hosts
  }

  /** Kills the victims at the point, starts them again, and returns what is wrong afterwards. */
  async trial(point: Point, victim: Victim): Promise<readonly string[]> {
    const isAnswer = point.startsWith('answer') || point === 'waiting'
    const id = `${isAnswer ? 'pay' : 'act'}-${point.replaceAll(' ', '-')}-${victim}-${crypto.randomUUID().slice(0, 8)}`
    const at = point.endsWith('effect') ? `b.${point}` : `a.${point.replace('answer ', '')}`
    if (!isAnswer) this.#hold(at)
    await this.#post(`caller:${id}`, 'messages', { message: id })
    if (isAnswer) {
      const request = await this.#until(`the question of ${id}`, async () =>
        (await this.entries('a', `caller:${id}`)).find(({ type }) => type === 'request.start'),
      )
      await this.#until('the turn waits', () => this.#outcome(id))
      if (point !== 'waiting') {
        this.#hold(at)
        await this.#answer(id, request)
      }
      await this.#killAt(point === 'waiting' ? undefined : at, victim)
      if (point === 'waiting') await this.#answer(id, request)
    } else await this.#killAt(at, victim, id)
    return this.#judge(id, point, victim)
  }

  /** `pinger` of A asks `ponger` of B, which asks `worker` of A. */
  async askBack(): Promise<readonly string[]> {
    const id = 'act-back'
    await this.#post(`pinger:${id}`, 'messages', { message: id })
    const text = await this.#until('the reply', () => this.#outcome(id, 'pinger'))
    return text === `did ${id}` && this.#effects(id) === 1 ? [] : [`${id}: ${text}, ${this.#effects(id)}`]
  }

  async entries(name: Name, contextId: string): Promise<readonly Entry[]> {
    const store = sqliteStore(join(this.#folder, `${name}.db`))
    try {
      return await store.read({ tenant: 'local', actor: 'local', contextId })
    } finally {
      await store.close()
    }
  }

  close(): void {
    for (const child of this.#children.values()) child.kill('SIGKILL')
  }

  async #start(name: Name): Promise<void> {
    const peer = `http://127.0.0.1:${this.#ports[name === 'a' ? 'b' : 'a']}`
    const args = [this.#folder, name, String(this.#ports[name]), peer]
    const child = fork(programFile('test/hosts/host-process.ts'), args, {
      execArgv: ['--no-warnings'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.#children.set(name, child)
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`Host ${name} has ended with ${String(code)}`)
    })
    ended.catch(() => {})
    await Promise.race([once(child, 'message'), ended])
  }

  async #kill(name: Name): Promise<void> {
    const child = this.#children.get(name)
    if (child === undefined) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  /** A comes back before B, so that the worker's host is away at first. */
  async #killAt(at: string | undefined, victim: Victim, id?: string): Promise<void> {
    const names: readonly Name[] = victim === 'both' ? ['a', 'b'] : [victim]
    if (at !== undefined)
      await this.#until(`${at} is reached`, () => existsSync(join(this.#folder, 'holds', `${at}.reached`)))
    if (id !== undefined && at?.endsWith('effect') === true)
      await this.#until(`the task of ${id} is kept`, () => this.#hasTask(id))
    for (const name of names) await this.#kill(name)
    rmSync(join(this.#folder, 'holds'), { recursive: true })
    mkdirSync(join(this.#folder, 'holds'))
    for (const name of names) await this.#start(name)
  }

  /** The worker may be at its effect before the caller has read the id of the task. */
  async #hasTask(id: string): Promise<boolean> {
    return (await this.entries('a', `caller:${id}`)).some(({ type }) => type === 'artifact')
  }

  async #judge(id: string, point: Point, victim: Victim): Promise<readonly string[]> {
    const text = await this.#until(`the end of ${id}`, async () => {
      const found = await this.#outcome(id)
      return found === WAITING ? undefined : found
    })
    const ends = (await this.entries('a', `caller:${id}`)).filter(({ type }) => type === 'tool.end')
    const status = ends.map(({ data }) => (data as { readonly status: string }).status).join(' ')
    const expected = expectedEffects(point, victim)[status]
    if (expected === 1) await this.#until(`the effect of ${id}`, () => this.#effects(id) > 0)
    const count = this.#effects(id)
    const problems: string[] = []
    if (expected === undefined) problems.push(`the call ended as ${status}: ${text}`)
    else if (count !== expected) problems.push(`${status} and ${count} effects`)
    if (status === 'ok' && text !== `did ${id}`) problems.push(`the reply is ${text}`)
    return problems.map((problem) => `${point}, ${victim} killed: ${problem}`)
  }

  /** The text of the newest turn that has ended, if none runs. */
  async #outcome(id: string, agent = 'caller'): Promise<string | undefined> {
    const entries = await this.entries('a', `${agent}:${id}`)
    const last = entries.findLast(({ type }) => /^(turn|input|answer|request\.end)/.test(type))
    if (last?.type !== 'turn.end') return undefined
    if (last.data['reason'] === 'input-required') return WAITING
    const reply = entries.findLast(({ type }) => type === 'model.end')
    return JSON.stringify(reply?.data).match(/did [\w-]+|no: [^}]*/)?.[0] ?? JSON.stringify(reply?.data)
  }

  #effects(id: string): number {
    const file = join(this.#folder, 'effects.log')
    if (!existsSync(file)) return 0
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line === id).length
  }

  #hold(at: string): void {
    writeFileSync(join(this.#folder, 'holds', at), '')
  }

  async #answer(id: string, request: Entry): Promise<void> {
    const { requestId } = request.data as { readonly requestId: string }
    await this.#post(`caller:${id}`, 'answers', { answers: { [requestId]: true } })
  }

  async #post(conversation: string, route: string, body: object): Promise<void> {
    const url = `http://127.0.0.1:${this.#ports.a}/conversations/${conversation}/${route}`
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`)
    await response.body?.cancel()
  }

  async #until<T>(what: string, find: () => T | Promise<T>): Promise<NonNullable<Exclude<T, false>>> {
    const end = Date.now() + PATIENCE_MS
    for (;;) {
      const found = await find()
      if (found !== undefined && found !== false && found !== null)
        return found as NonNullable<Exclude<T, false>>
      if (Date.now() > end) throw new Error(`Waited in vain: ${what}`)
      await sleep(20)
    }
  }
}

const WAITING = '(waits)'

/** The statuses that the caller's call may end with, and the effects that the worker must have had with each. */
function expectedEffects(point: Point, victim: Victim): Readonly<Record<string, number>> {
  if (point === 'before-send') return victim === 'b' ? { ok: 1, error: 0, unknown: 0 } : { unknown: 0 }
  // The first events may have arrived before B was killed.
  if (point === 'after-send') return victim === 'b' ? { ok: 1, unknown: 1 } : { unknown: 1 }
  return { ok: 1 }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}
