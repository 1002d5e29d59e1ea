/**
 * Modes of a session: which calls ask the person, and which are refused. A mode is an approval policy beside those of the agent,
 * and of several decisions the strictest counts: so no mode allows what a policy asks about or denies. Public, so it names no
 * type of the protocol's package.
 */
import type { ApprovalPolicy, PolicyCall, PolicyDecision } from '../../tool/index.ts'
import { kindOf } from './tool-calls.ts'

export type AcpMode = 'ask' | 'accept-edits' | 'read-only'

export const MODES: Readonly<Record<AcpMode, { readonly name: string; readonly description: string }>> = {
  ask: { name: 'Ask before edits', description: 'Asks before it changes files or runs commands.' },
  'accept-edits': {
    name: 'Accept edits',
    description: 'Changes files of the project without asking. Commands still ask.',
  },
  'read-only': { name: 'Read only', description: 'Reads and searches. Changes no file and runs no command.' },
}

export function isMode(id: string): id is AcpMode {
  return Object.hasOwn(MODES, id)
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
