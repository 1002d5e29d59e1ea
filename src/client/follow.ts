/** Follows a conversation: every entry once, in order, across broken connections and restarts of the server. */
import type { DeltaData, DeltaEvent, Entry } from '../protocol/index.ts'
import { ClientError } from './client-error.ts'
import { framesOf } from './sse.ts'

export type ClientEvent =
  | { readonly type: 'entry'; readonly entry: Entry }
  | { readonly type: 'delta'; readonly event: DeltaEvent }
  /**
   * The whole reply under way so far, after each connect: it replaces what deltas gave before. The reply of a flow comes
   * this way, before the end of its turn.
   */
  | {
      readonly type: 'text'
      readonly turn: number
      readonly text: string
      readonly reasoning?: string
      /** Arguments of the calls that the model writes: beginnings of JSON texts. */
      readonly calls?: readonly DeltaData['call.delta'][]
    }
  /** The connection: for a display. */
  | { readonly type: 'connected' }
  | { readonly type: 'disconnected'; readonly error: ClientError; readonly retryInMs: number }

export interface FollowOptions {
  /** The position of the last entry that you have. Default: 0. */
  readonly since?: number
  readonly signal?: AbortSignal
  /** How long the server may be silent while you wait, heartbeats included, before the connection counts as broken. Default: 45 seconds. */
  readonly silenceMs?: number
}

/** Opens the stream after a position. */
export type OpenStream = (since: number, signal: AbortSignal) => Promise<Response>

const FIRST_WAIT_MS = 250
const LONGEST_WAIT_MS = 15_000

export async function* follow(
  openStream: OpenStream,
  { since = 0, signal, silenceMs = 45_000 }: FollowOptions,
): AsyncGenerator<ClientEvent> {
  let last = since
  let failures = 0
  while (!signal?.aborted) {
    const stop = new AbortController()
    const abort = (): void => stop.abort()
    signal?.addEventListener('abort', abort, { once: true })
    const silence = new SilenceTimer(abort, silenceMs)
    let error: ClientError
    try {
      silence.start()
      const response = await openStream(last, stop.signal)
      silence.stop()
      yield { type: 'connected' }
      for await (const event of eventsOf(response, silence)) {
        failures = 0
        if (event?.type === 'entry') {
          // A server that repeats an entry must not make the reader see it twice.
          if (event.entry.seq <= last) continue
          last = event.entry.seq
        }
        if (event !== undefined) yield event
      }
      error = new ClientError('The stream ended.')
    } catch (thrown) {
      error = asClientError(thrown)
    } finally {
      silence.stop()
      stop.abort()
      signal?.removeEventListener('abort', abort)
    }
    if (signal?.aborted) return
    if (!error.isTransient) throw error
    failures += 1
    const retryInMs = error.retryAfterMs ?? waitAfter(failures)
    yield { type: 'disconnected', error, retryInMs }
    await wait(retryInMs, signal)
  }
}

/** Acts once the reader has waited for so long. It runs only while the reader waits for the server, not while an event is handled. */
class SilenceTimer {
  readonly #act: () => void
  readonly #ms: number
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(act: () => void, ms: number) {
    this.#act = act
    this.#ms = ms
  }

  start(): void {
    this.#timer = setTimeout(this.#act, this.#ms)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}

async function* eventsOf({ body }: Response, silence: SilenceTimer): AsyncGenerator<ClientEvent | undefined> {
  if (body === null) return
  silence.start()
  for await (const frame of framesOf(body)) {
    silence.stop()
    yield frame === undefined ? undefined : eventOf(frame.event, frame.data)
    silence.start()
  }
}

function eventOf(name: string, data: string): ClientEvent | undefined {
  const value = JSON.parse(data) as Record<string, unknown>
  switch (name) {
    case 'entry':
      return { type: 'entry', entry: value as unknown as Entry }
    case 'delta':
      return { type: 'delta', event: value as unknown as DeltaEvent }
    case 'text':
      return { type: 'text', ...(value as Omit<Extract<ClientEvent, { type: 'text' }>, 'type'>) }
    case 'error':
      throw new ClientError(String(value['detail']), {
        status: Number(value['status']),
        code: String(value['code']),
      })
    default:
      return undefined
  }
}

export function asClientError(thrown: unknown): ClientError {
  if (thrown instanceof ClientError) return thrown
  return new ClientError(thrown instanceof Error ? thrown.message : String(thrown))
}

/** Doubles, with chance in it, so that the readers of a server that restarts do not come all at once. */
export function waitAfter(failures: number): number {
  const most = Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), LONGEST_WAIT_MS)
  return Math.round(most * (0.5 + Math.random() / 2))
}

export function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done)
  })
}
