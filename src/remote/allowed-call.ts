/** The policies around a node that calls a remote agent, such as the trust of its host: they judge it as a tool. */
import { approvalsAround } from '../drive/index.ts'
import type { NodeContext } from '../graph/index.ts'
import { defined, HoldfastError } from '../protocol/index.ts'
import { decideCall, redactorOf } from '../tool/index.ts'
import type { RemoteMessage } from './remote-message.ts'

interface RemoteCall {
  readonly name: string
  readonly url: string
  readonly public?: boolean
}

/** Throws `forbidden` for a call that a policy denies. One that a policy asks about is asked for here. */
export async function checkAllowed(
  { name, url, public: isPublic = false }: RemoteCall,
  context: NodeContext,
  { text = '', data }: RemoteMessage,
): Promise<void> {
  const { policies, granted } = approvalsAround() ?? { policies: [] }
  const { principal, contextId, task: callId } = context
  const secrets = redactorOf(context.credentials)
  const input = { message: text, ...defined({ data }) }
  const call = { tool: name, input, principal, callId, contextId }
  const decision = await decideCall(
    policies,
    { ...call, origin: { kind: 'a2a', url }, isPublic, asks: false },
    {
      secrets,
      granted: async () => new Set(await granted?.(principal)),
      onFailed: () => {},
    },
  )
  if (decision?.decision === 'deny') throw refused(name, decision.reason)
  if (decision?.decision !== 'ask') return
  const prompt = decision.question
  const about = { remoteAgent: name, tool: name, args: secrets.json(input) }
  const question = { kind: 'confirmation', name: 'approval', prompt, about } as const
  if (!(await context.interrupt(question))) throw refused(name, 'It was not approved.')
}

function refused(name: string, reason = 'A policy refuses it.'): HoldfastError {
  return new HoldfastError('forbidden', { message: `${name} was not called. ${reason}` })
}
