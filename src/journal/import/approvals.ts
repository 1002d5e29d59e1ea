/**
 * Approvals in the AI SDK's model messages: a request beside the call, and a response in a later message, joined by the
 * approval's id. Each call gets `approval: { approved?, reason? }`, as UI messages have it.
 */
import type { JsonObject } from '../../protocol/index.ts'
import type { ForeignCall } from './foreign.ts'
import { isObject, objectsIn, textIn } from './pieces.ts'

const REQUEST = 'tool-approval-request'
const RESPONSE = 'tool-approval-response'

/** Parts that `joinApprovals` has read: they can be dropped. */
export function isApprovalPart({ type }: JsonObject): boolean {
  return type === REQUEST || type === RESPONSE
}

export function joinApprovals(items: readonly JsonObject[]): readonly JsonObject[] {
  const parts = items.flatMap(({ content }) => objectsIn(content)).filter(isApprovalPart)
  if (parts.length === 0) return items
  const responses = new Map(
    parts.filter(({ type }) => type === RESPONSE).map((part) => [part['approvalId'], part]),
  )
  const byCall = new Map<unknown, JsonObject>()
  for (const { type, toolCallId, approvalId } of parts) {
    if (type !== REQUEST) continue
    const { approved, reason } = responses.get(approvalId) ?? {}
    byCall.set(toolCallId, {
      ...(typeof approved === 'boolean' ? { approved } : {}),
      ...(typeof reason === 'string' ? { reason } : {}),
    })
  }
  return items.map((item) =>
    Array.isArray(item['content'])
      ? { ...item, content: item['content'].map((part) => withApproval(part as JsonObject, byCall)) }
      : item,
  )
}

function withApproval(part: JsonObject, byCall: ReadonlyMap<unknown, JsonObject>): JsonObject {
  if (!isObject(part) || part['type'] !== 'tool-call') return part
  const approval = byCall.get(part['toolCallId'])
  return approval === undefined ? part : { ...part, approval }
}

const NOT_APPROVED = 'Not run: nobody had approved it when the history was imported.'

/** Result of a call without one, if its approval determines it. An approved call may have run. */
export function unansweredBy(approval: unknown): ForeignCall['unanswered'] {
  if (!isObject(approval) || approval['approved'] === true) return undefined
  if (approval['approved'] === false)
    return { status: 'rejected', output: textIn(approval['reason']) ?? 'Refused.' }
  return { status: 'not-run', output: NOT_APPROVED }
}
