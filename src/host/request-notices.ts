/** Tells the embedder that somebody is needed: once for the same open requests, however many callers follow their turn. */
import type { ContextKey } from '../protocol/index.ts'
import { callEmbedder } from './call-embedder.ts'
import type { Hosted } from './hosted.ts'
import type { RequestNotice } from './reads.ts'

export class RequestNotices {
  readonly #listener: ((notice: RequestNotice) => void) | undefined
  /** The ids of the requests that the listener got last. */
  readonly #noticed = new WeakMap<Hosted, string>()

  constructor(listener: ((notice: RequestNotice) => void) | undefined) {
    this.#listener = listener
  }

  /** A message that is sent again replays an old outcome, so the requests are those that are open now. */
  async notify(hosted: Hosted, key: ContextKey): Promise<void> {
    if (this.#listener === undefined) return
    const requests = await hosted.requests()
    const ids = requests.map(({ requestId }) => requestId).join(' ')
    if (ids === '' || ids === this.#noticed.get(hosted)) return
    this.#noticed.set(hosted, ids)
    callEmbedder('onRequest', () => this.#listener?.({ key, requests }))
  }
}
