/** Open requests as interrupts of AG-UI, and the entries of `resume` as answers. */
import type { Interrupt, ResumeEntry } from '@ag-ui/core'
import type { Json, JsonObject, RequestData } from '../../protocol/index.ts'

/** True if the caller runs the tool that waits: the client sees its call, and no interrupt. */
export function isClientCall({ about }: RequestData): boolean {
  return about?.['runBy'] === 'client'
}

export function interruptOf(request: RequestData, callId: string | undefined): Interrupt {
  const { requestId, prompt, kind, from, about, options, expiresAt } = request
  return {
    id: requestId,
    reason: reasonOf(request),
    message: prompt,
    responseSchema: answerSchema(request),
    ...(callId === undefined ? {} : { toolCallId: callId }),
    ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt).toISOString() }),
    metadata: {
      kind,
      ...(from === undefined ? {} : { from }),
      ...(about === undefined ? {} : { about }),
      ...(options === undefined ? {} : { options }),
    },
  }
}

/** The names that the protocol suggests; `auth_required` is ours. */
function reasonOf({ kind, about }: RequestData): string {
  if (kind === 'confirmation') return about?.['tool'] === undefined ? 'confirmation' : 'tool_call'
  return kind === 'auth' ? 'auth_required' : 'input_required'
}

function answerSchema({ kind, options = [], multiple, schema }: RequestData): JsonObject {
  if (kind === 'confirmation')
    return {
      type: 'object',
      properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
      required: ['approved'],
    }
  if (kind === 'choice')
    return multiple ? { type: 'array', minItems: 1, items: { enum: options } } : { enum: options }
  return kind === 'data' ? (schema ?? {}) : { type: 'string', minLength: 1 }
}

/**
 * The answer of an entry; undefined if it is none. A cancelled approval is a rejection; another question that is cancelled
 * stays open until the person writes something else.
 */
export function answerOf(
  { status, payload }: ResumeEntry,
  request: RequestData | undefined,
): Json | undefined {
  if (status === 'cancelled') {
    const isYesOrNo = request === undefined || request.kind === 'confirmation'
    return isYesOrNo ? { approved: false, reason: 'Cancelled.' } : undefined
  }
  return payload === undefined || payload === null ? undefined : (payload as Json)
}
