/**
 * Modes of a session: which calls ask the person, and which are refused. A mode is an approval policy beside those of the agent,
 * and of several decisions the strictest counts: so no mode allows what a policy asks about or denies.
 */
import type { SessionModeState } from '@agentclientprotocol/sdk'
import type { Host } from '../../host/index.ts'
import type { ContextKey } from '../../protocol/index.ts'
import type { ApprovalPolicy, PolicyCall, PolicyDecision } from '../../tool/index.ts'
import { kindOf } from './tool-calls.ts'

export type AcpMode = 'ask' | 'accept-edits' | 'read-only'

const AVAILABLE: Readonly<Record<AcpMode, { readonly name: string; readonly description: string }>> = {
  ask: { name: 'Ask before edits', description: 'Asks before it changes files or runs commands.' },
  'accept-edits': {
    name: 'Accept edits',
    description: 'Changes files of the project without asking. Commands still ask.',
  },
  'read-only': { name: 'Read only', description: 'Reads and searches. Changes no file and runs no command.' },
}

export function isMode(id: string): id is AcpMode {
  return Object.hasOwn(AVAILABLE, id)
}

/** The modes of the sessions of a server: pass it to `serveAcp`, and its plugin to the agents. */
export interface AcpModes {
  readonly plugin: { readonly name: string; readonly approve: ApprovalPolicy }
  /** Sets the mode of a conversation, and of all below it. */
  readonly set: (contextId: string, mode: AcpMode) => void
}

/**
 * Session modes: ask before edits, accept edits, read only.
 *
 * @example
 * const modes = acpModes()
 * const host = createHost({ store, agents: { site: { model, tools, plugins: [modes.plugin] } } })
 * await serveAcp(host, { agent: 'site', modes, input: process.stdin, output: process.stdout })
 */
export function acpModes(): AcpModes {
  const modes = new Map<string, AcpMode>()
  const approve = (call: PolicyCall): PolicyDecision | undefined =>
    decide(modes.get(call.contextId.split('/')[0] ?? '') ?? 'ask', call)
  return { plugin: { name: 'acpModes', approve }, set: (contextId, mode) => void modes.set(contextId, mode) }
}

const READING: ReadonlySet<string> = new Set(['read', 'search', 'fetch', 'think'])
/** Tools that speak with the person, and do nothing else. */
const SPEAKING: ReadonlySet<string> = new Set(['ask_user', 'ask_followup_question', 'attempt_completion'])

function decide(mode: AcpMode, { tool, origin }: PolicyCall): PolicyDecision | undefined {
  // A tool of a server or a remote agent may have any name.
  const kind = origin === undefined ? kindOf(tool) : 'other'
  if (mode === 'accept-edits') return kind === 'edit' ? { decision: 'allow' } : undefined
  if (mode === 'ask' || READING.has(kind) || (origin === undefined && SPEAKING.has(tool))) return undefined
  return {
    decision: 'deny',
    reason: 'The session is read only. Say what you would change; the person can choose another mode.',
  }
}

const DOCUMENT = 'acp-mode'

export interface SessionModeOptions {
  readonly host: Host
  readonly modes: AcpModes
  /** The first conversation of the session, which keeps its mode. */
  readonly key: ContextKey
}

/** The mode of one session. It survives the process once the session has a conversation. */
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
    const availableModes = Object.entries(AVAILABLE).map(([id, mode]) => ({ id, ...mode }))
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
    const value = { mode: this.#mode }
    for (let written; written === undefined; )
      written = await host.documents.write(await host.documents.read(key, DOCUMENT), { value })
  }

  #apply(mode: AcpMode): void {
    this.#mode = mode
    this.#options.modes.set(this.#contextId, mode)
  }
}
