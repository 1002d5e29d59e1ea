/**
 * A server that speaks like five vendors, on a port of this machine. It says what the test wrote down for it, and is as
 * strict as they are: a request that they would refuse is refused in their words, and a key only opens its own door.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { checkVendorRequest } from '../vendors/check-vendor-request.ts'
import { anthropic } from './speak-anthropic.ts'
import { google } from './speak-google.ts'
import { compatible, openAIChat } from './speak-openai-chat.ts'
import { openAIResponses } from './speak-openai-responses.ts'
import type { Dialect, Reply, Trouble } from './speaking.ts'

export type Speaker = 'anthropic' | 'openai-responses' | 'openai-chat' | 'google' | 'compatible'

export const DIALECTS: Readonly<Record<Speaker, Dialect>> = {
  anthropic,
  'openai-responses': openAIResponses,
  'openai-chat': openAIChat,
  google,
  compatible,
}

/**
 * What is answered to one request: a whole reply; a refusal; a reply that begins and then stalls, loses its
 * connection, ends without its end, or turns into an error; or text that is no reply at all.
 */
export type Step =
  | Reply
  | { readonly refuse: Trouble }
  | { readonly raw: string; readonly after?: Reply }
  | { readonly begin: Reply; readonly ends: 'stall' | 'cut' | 'early' | Trouble }

export interface Asked {
  readonly speaker: Speaker
  readonly path: string
  readonly body: unknown
}

export class WireServer {
  /** What is said next, whoever is asked. */
  script: Step[] = []
  /** What is said when the script has come to its end; without it, that is a problem. */
  otherwise: Step | undefined
  /** A request with this text in it is refused, as one with an address that cannot be read. */
  gone: string | undefined
  /** A request with more characters is refused as too long. */
  longest: number = Number.POSITIVE_INFINITY
  /** Requests that were accepted or refused by the script. */
  readonly asked: Asked[] = []
  /** What was refused because no vendor would take it. */
  readonly problems: string[] = []
  /** How many replies were given up by whoever asked. */
  left = 0
  readonly #server: Server
  #number = 0

  private constructor() {
    this.#server = createServer((request, response) => void this.#receive(request, response))
  }

  static async open(): Promise<WireServer> {
    const wire = new WireServer()
    await new Promise<void>((listening) => wire.#server.listen(0, '127.0.0.1', listening))
    return wire
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((closed) => this.#server.close(closed))
  }

  /** Everything as it was when it opened. */
  reset(...script: Step[]): void {
    this.script = script
    this.otherwise = undefined
    this.longest = Number.POSITIVE_INFINITY
    this.gone = undefined
    this.asked.length = 0
    this.problems.length = 0
    this.left = 0
  }

  /** Throws if anything was refused that should not have been, or was written down and not asked for. */
  settle(): void {
    if (this.problems.length > 0) throw new Error(`Refused: ${this.problems.join('\n')}`)
    if (this.script.length > 0) throw new Error(`Never asked for: ${JSON.stringify(this.script)}`)
  }

  baseURL(speaker: Speaker): string {
    const { port } = this.#server.address() as AddressInfo
    return `http://127.0.0.1:${port}${DIALECTS[speaker].base}`
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').replace(/\?.*$/, '')
    const found = (Object.entries(DIALECTS) as [Speaker, Dialect][]).find(([, one]) => one.isAsked(path))
    if (found === undefined) {
      this.problems.push(`nobody is at ${path}`)
      response.writeHead(404).end()
      return
    }
    const [speaker, dialect] = found
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const body: unknown = JSON.parse(text)
    const trouble = this.#refused(dialect, { request, path, body })
    if (trouble !== undefined) {
      refuse(response, dialect, trouble)
      return
    }
    this.asked.push({ speaker, path, body })
    if (this.gone !== undefined && text.includes(this.gone))
      refuse(response, dialect, { status: 400, message: `Cannot fetch ${this.gone}` })
    else if (text.length <= this.longest) this.#answer(response, dialect)
    else {
      const message = `prompt is too long: ${Math.ceil(text.length / 4)} tokens > ${Math.ceil(this.longest / 4)} maximum`
      refuse(response, dialect, { status: 400, message })
    }
  }

  #refused(
    dialect: Dialect,
    { request, path, body }: { request: IncomingMessage; path: string; body: unknown },
  ): Trouble | undefined {
    if (dialect.key(request.headers) !== keyOf(dialect))
      return { status: 401, message: `Incorrect API key provided: ${dialect.key(request.headers)}` }
    const problems = checkVendorRequest(dialect.vendor, body)
    if (problems.length === 0) problems.push(...(dialect.alsoRefuses?.(path, body) ?? []))
    this.problems.push(...problems)
    return problems[0] === undefined ? undefined : { status: 400, message: problems[0] }
  }

  #answer(response: ServerResponse, dialect: Dialect): void {
    const step = this.script.shift() ?? this.otherwise
    if (step === undefined) {
      this.problems.push('nothing was written down for this request')
      refuse(response, dialect, { status: 400, message: 'nothing is left to say' })
      return
    }
    if ('refuse' in step) {
      refuse(response, dialect, step.refuse)
      return
    }
    this.#number += 1
    if ('raw' in step) {
      const before = step.after === undefined ? [] : dialect.events(step.after, this.#number).content
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end([...before, step.raw].join(''))
      return
    }
    const broken = 'begin' in step
    const { content, end } = dialect.events(broken ? step.begin : step, this.#number)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of content) response.write(event)
    if (!broken) response.end(end.join(''))
    else if (step.ends === 'early') response.end()
    else if (step.ends === 'cut') setTimeout(() => response.socket?.destroy(), 10)
    else if (step.ends === 'stall') response.once('close', () => this.left++)
    else response.end(dialect.failing(step.ends))
  }
}

/** Each vendor has its own key. */
export function keyOf({ base }: Pick<Dialect, 'base'>): string {
  return `sk-key-for${base.replaceAll('/', '-')}`
}

function refuse(response: ServerResponse, dialect: Dialect, trouble: Trouble): void {
  response.writeHead(trouble.status, { 'content-type': 'application/json', ...trouble.headers })
  response.end(JSON.stringify(dialect.refusal(trouble)))
}
