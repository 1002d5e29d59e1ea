/** Many open streams and a steady rate of turns, sent whether or not the server keeps up, and every entry accounted for. */
import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

export interface LoadOptions {
  readonly url: string
  /** Conversations, each with one reader. */
  readonly streams: number
  readonly perSecond: number
  readonly seconds: number
  readonly onTurn?: (ended: number) => void
}

export interface LoadReport {
  readonly offered: number
  readonly accepted: number
  /** Refusals by status: nothing of them is stored. */
  readonly refused: Readonly<Record<string, number>>
  readonly ended: number
  readonly seconds: number
  readonly entries: number
  readonly deltas: number
  /** From the time in the entry to its arrival, in ms. */
  readonly delays: { readonly p50: number; readonly p99: number; readonly most: number }
  readonly problems: readonly string[]
}

export async function runLoad(options: LoadOptions): Promise<LoadReport> {
  const load = new Load(options)
  try {
    return await load.run()
  } finally {
    load.close()
  }
}

const AT_ONCE = 50

class Load {
  readonly #options: LoadOptions
  readonly #agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  readonly #readers: Reader[] = []
  #accepted = 0
  readonly #refused: Record<string, number> = {}

  constructor(options: LoadOptions) {
    this.#options = options
  }

  async run(): Promise<LoadReport> {
    const { streams, perSecond, seconds } = this.#options
    await this.#prepare()
    for (const reader of this.#readers) reader.delays.length = 0
    const before = this.#ended()
    const started = performance.now()
    const offered = Math.round(perSecond * seconds)
    const sending: Promise<void>[] = []
    const telling = setInterval(() => this.#options.onTurn?.(this.#ended() - before), 250)
    for (let turn = 0; turn < offered; turn++) {
      const due = started + (turn / perSecond) * 1000
      const early = due - performance.now()
      if (early > 0) await sleep(early)
      sending.push(this.#send(`a:load-${turn % streams}`))
    }
    await Promise.all(sending)
    while (this.#ended() - before < this.#accepted) await sleep(50)
    clearInterval(telling)
    this.#options.onTurn?.(this.#ended() - before)
    const took = (performance.now() - started) / 1000
    return this.#report({ offered, ended: this.#ended() - before, seconds: took })
  }

  close(): void {
    for (const reader of this.#readers) reader.close()
    this.#agent.destroy()
  }

  /** A first turn makes each conversation exist; then its stream is opened. */
  async #prepare(): Promise<void> {
    const ids = Array.from({ length: this.#options.streams }, (_, at) => `a:load-${at}`)
    const next = ids.values()
    const work = async (): Promise<void> => {
      for (const id of next) {
        while ((await this.#post(id, '?wait=true')) !== 200) await sleep(100)
        const reader = new Reader(this.#options.url, id)
        this.#readers.push(reader)
        await reader.opened
      }
    }
    await Promise.all(Array.from({ length: 8 }, work))
    while (this.#ended() < ids.length) await sleep(20)
  }

  #ended(): number {
    return this.#readers.reduce((sum, { ended }) => sum + ended, 0)
  }

  async #send(id: string): Promise<void> {
    const status = await this.#post(id)
    if (status === 202) this.#accepted += 1
    else this.#refused[status] = (this.#refused[status] ?? 0) + 1
  }

  #post(id: string, query = '', key: string = randomUUID()): Promise<number> {
    const body = JSON.stringify({ message: 'load' })
    const headers = {
      'content-type': 'application/json',
      'content-length': body.length,
      'idempotency-key': key,
    }
    return new Promise((resolve, reject) => {
      const sent = request(`${this.#options.url}/conversations/${id}/messages${query}`, {
        method: 'POST',
        agent: this.#agent,
        headers,
      })
      sent.on('response', (response) => response.resume().on('end', () => resolve(response.statusCode ?? 0)))
      sent.on('error', (error: NodeJS.ErrnoException) => {
        // The server has closed an idle connection in the moment in which it was used again.
        if (sent.reusedSocket && error.code === 'ECONNRESET') resolve(this.#post(id, query, key))
        else reject(error)
      })
      sent.end(body)
    })
  }

  async #report(counts: Pick<LoadReport, 'offered' | 'ended' | 'seconds'>): Promise<LoadReport> {
    const problems: string[] = []
    for (const reader of this.#readers) {
      problems.push(...reader.problems)
      const { seq } = (await (await fetch(`${this.#options.url}/conversations/${reader.id}`)).json()) as {
        seq: number
      }
      if (reader.last !== seq)
        problems.push(`${reader.id}: the last entry is ${seq}, and ${reader.last} was seen`)
    }
    const delays = this.#readers.flatMap((reader) => reader.delays).toSorted((a, b) => a - b)
    const at = (part: number): number =>
      delays[Math.min(delays.length - 1, Math.floor(delays.length * part))] ?? 0
    return {
      ...counts,
      accepted: this.#accepted,
      refused: this.#refused,
      entries: this.#readers.reduce((sum, { last }) => sum + last, 0),
      deltas: this.#readers.reduce((sum, reader) => sum + reader.deltas, 0),
      delays: { p50: at(0.5), p99: at(0.99), most: at(1) },
      problems,
    }
  }
}

class Reader {
  readonly id: string
  readonly opened: Promise<void>
  readonly delays: number[] = []
  readonly problems: string[] = []
  last = 0
  ended = 0
  deltas = 0
  readonly #request: ReturnType<typeof request>
  #rest = ''

  constructor(url: string, id: string) {
    this.id = id
    this.#request = request(`${url}/conversations/${id}/events`, { agent: false })
    this.opened = new Promise((resolve, reject) => {
      this.#request.on('error', reject).on('response', (response) => {
        response
          .setEncoding('utf8')
          .on('data', (text: string) => this.#take(text))
          .on('error', () => {})
        resolve()
      })
    })
    this.#request.end()
  }

  close(): void {
    this.#request.on('error', () => {}).destroy()
  }

  #take(text: string): void {
    const now = Date.now()
    const frames = (this.#rest + text).split('\n\n')
    this.#rest = frames.pop() ?? ''
    for (const frame of frames) {
      if (frame.includes('event: delta')) this.deltas += 1
      const id = /^id: (\d+)/.exec(frame)?.[1]
      if (id === undefined) continue
      if (Number(id) !== this.last + 1) this.problems.push(`${this.id}: entry ${id} comes after ${this.last}`)
      this.last = Number(id)
      this.delays.push(now - Number(/"at":(\d+)/.exec(frame)?.[1]))
      if (frame.includes('"type":"turn.end"')) this.ended += 1
    }
  }
}
