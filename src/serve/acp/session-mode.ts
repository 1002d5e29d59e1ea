/** The mode of one session: set for the policy, and stored, so that it outlives the process. */
import type { SessionModeState } from '@agentclientprotocol/sdk'
import type { Host } from '../../host/index.ts'
import type { ContextKey } from '../../protocol/index.ts'
import { type AcpMode, type AcpModes, isMode, MODES } from './modes.ts'

const DOCUMENT = 'acp-mode'

export interface SessionModeOptions {
  readonly host: Host
  readonly modes: AcpModes
  /** The first conversation of the session, which keeps its mode. */
  readonly key: ContextKey
}

export class SessionMode {
  readonly #options: SessionModeOptions
  #mode: AcpMode = 'ask'
  #contextId: string
  #isKept = true

  constructor(options: SessionModeOptions) {
    this.#options = options
    this.#contextId = options.key.contextId
  }

  get state(): SessionModeState {
    const availableModes = Object.entries(MODES).map(([id, mode]) => ({ id, ...mode }))
    return { currentModeId: this.#mode, availableModes }
  }

  /** The session goes on in another conversation. */
  enter(contextId: string): void {
    this.#contextId = contextId
    this.#options.modes.set(contextId, this.#mode)
  }

  async change(mode: AcpMode): Promise<void> {
    this.#apply(mode)
    this.#isKept = false
    await this.keep()
  }

  async load(): Promise<void> {
    const { host, key } = this.#options
    const mode = (await host.documents.read(key, DOCUMENT)).value?.['mode']
    if (typeof mode === 'string' && isMode(mode)) this.#apply(mode)
  }

  /** Stores a changed mode as soon as there is a conversation to keep it with. */
  async keep(): Promise<void> {
    const { host, key } = this.#options
    if (this.#isKept || (await host.reads.info(key)) === undefined) return
    this.#isKept = true
    for (let written; written === undefined; ) {
      const document = await host.documents.read(key, DOCUMENT)
      written = await host.documents.write(document, { value: { mode: this.#mode } })
    }
  }

  #apply(mode: AcpMode): void {
    this.#mode = mode
    this.#options.modes.set(this.#contextId, mode)
  }
}
