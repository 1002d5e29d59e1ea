/** Sends hostile requests over raw sockets and judges each answer. */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type HostileRequest, hostileRequests } from './hostile-requests.ts'

export interface HostileOptions {
  readonly url: string
  readonly count: number
  readonly seed: number
  readonly concurrency: number
  /** True if anything is stored under the id. */
  readonly isStored: (contextId: string) => Promise<boolean>
  readonly onDone?: (problems: number) => void
}

export interface HostileReport {
  /** Answers by status; `none` for connections that were closed without one. */
  readonly statuses: Readonly<Record<string, number>>
  readonly problems: readonly string[]
}

const PATIENCE_MS = 60_000

export async function runHostile(options: HostileOptions): Promise<HostileReport> {
  const statuses: Record<string, number> = {}
  const problems: string[] = []
  const requests = hostileRequests(options.count, options.seed)
  const work = async (): Promise<void> => {
    for (const request of requests) {
      const answer = await exchange(options.url, request)
      const found = answersIn(answer.text)
      for (const { status } of found) statuses[status] = (statuses[status] ?? 0) + 1
      if (found.length === 0) statuses['none'] = (statuses['none'] ?? 0) + 1
      const wrong = [
        ...found.flatMap((each) => problemsOf(each, request)),
        ...(answer.isOver ? [] : ['was never closed']),
      ]
      const isRefused =
        !found.some(({ status }) => status < 300 && status !== 100) || request.kind === 'pipeline'
      if (isRefused && request.contextId !== undefined && (await options.isStored(request.contextId)))
        wrong.push('was refused, and something is stored')
      problems.push(
        ...wrong.map((what) => `${request.kind}: ${what}: ${shown(request)} → ${answer.text.slice(0, 300)}`),
      )
      options.onDone?.(problems.length)
    }
  }
  await Promise.all(Array.from({ length: options.concurrency }, work))
  return { statuses, problems }
}

interface Received {
  readonly text: string
  readonly isOver: boolean
}

async function exchange(url: string, { pieces, waitMs }: HostileRequest): Promise<Received> {
  const { port, hostname } = new URL(url)
  const socket = connect(Number(port), hostname)
  let text = ''
  const closed = new Promise<boolean>((resolve) => {
    socket.on('close', () => resolve(true))
    socket.on('error', () => resolve(true))
  })
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    // A stream does not end by itself.
    if (/content-type: (text\/event-stream|application\/x-ndjson)/i.test(text)) socket.destroy()
  })
  const write = async (): Promise<void> => {
    for (const piece of pieces) {
      if (socket.destroyed) return
      socket.write(piece)
      if (waitMs > 0) await sleep(waitMs)
    }
    // A half-open connection has to be closed by the server's own limits.
    if (waitMs === 0) socket.end()
  }
  void write()
  const isOver = await Promise.race([closed, sleep(PATIENCE_MS, false)])
  socket.destroy()
  return { text, isOver }
}

interface Answer {
  readonly status: number
  readonly head: string
  readonly body: string
}

function answersIn(text: string): Answer[] {
  return text
    .split(/(?=HTTP\/1\.1 \d{3})/)
    .filter((part) => part.startsWith('HTTP/1.1 '))
    .map((part) => {
      const end = part.indexOf('\r\n\r\n')
      return {
        status: Number(part.slice(9, 12)),
        head: part.slice(0, end < 0 ? part.length : end),
        body: end < 0 ? '' : part.slice(end + 4),
      }
    })
}

function problemsOf({ status, head, body }: Answer, { isHead }: HostileRequest): string[] {
  if (status < 400) return []
  const problems: string[] = []
  if (status >= 500 && status !== 503) problems.push(`is answered with ${status}`)
  if (!/content-type: application\/problem\+json/i.test(head)) problems.push(`${status} is no problem+json`)
  else if (!isHead && !isProblem(body, status)) problems.push(`${status} has no problem as its body`)
  if (/\bat .*\.[tj]s[:)]|node_modules|node:internal/.test(body)) problems.push('shows a stack trace')
  return problems
}

function isProblem(body: string, status: number): boolean {
  try {
    const json = body.slice(body.indexOf('{'), body.lastIndexOf('}') + 1)
    const { code, status: given } = JSON.parse(json) as { code?: unknown; status?: unknown }
    return typeof code === 'string' && given === status
  } catch {
    return false
  }
}

function shown({ pieces }: HostileRequest): string {
  return JSON.stringify(
    Buffer.concat([...pieces])
      .toString('latin1')
      .slice(0, 300),
  )
}
