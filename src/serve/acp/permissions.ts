/** Requests of a conversation as questions to the person at the editor, and the person's choice as an answer. */
import type { PermissionOption, RequestPermissionRequest } from '@agentclientprotocol/sdk'
import { type Json, offeredGrants, type RequestData } from '../../protocol/index.ts'
import { NO_SECRETS, optionText, usualQuestion } from '../../tool/index.ts'
import { fieldsOf, previewContent, type ShownCall, shownCall, textContent } from './tool-calls.ts'

const MOST_OPTIONS = 12

/** True if the editor can ask with buttons; other questions are put as a message, and the next prompt answers them. */
export function isPermission({ kind, options = [], multiple }: RequestData): boolean {
  if (kind === 'confirmation') return true
  return kind === 'choice' && multiple !== true && options.length > 0 && options.length <= MOST_OPTIONS
}

export interface Asking {
  readonly sessionId: string
  readonly cwd: string
  /** The call that waits, if the editor knows it. */
  readonly callId?: string
}

export function permissionRequest(
  request: RequestData,
  { sessionId, cwd, callId }: Asking,
): RequestPermissionRequest {
  const { tool, args = null } = fieldsOf(request.about ?? null)
  const isCall = request.kind === 'confirmation' && typeof tool === 'string'
  const shown = isCall ? callOf(request, { tool, args }, cwd) : { title: request.prompt }
  return {
    sessionId,
    toolCall: { toolCallId: callId ?? request.requestId, status: 'pending', ...shown },
    options: optionsOf(request),
  }
}

/** The call with its preview, after the question if it says more than the call. */
function callOf(
  { prompt, about }: RequestData,
  { tool, args }: { readonly tool: string; readonly args: Json },
  cwd: string,
): ShownCall {
  const shown = shownCall(tool, args, cwd)
  const isUsual = prompt === usualQuestion({ tool, input: args }, NO_SECRETS)
  const question = isUsual ? [] : [textContent(prompt)]
  return { ...shown, content: [...question, ...previewContent(about, { content: shown.content, cwd })] }
}

function optionsOf(request: RequestData): PermissionOption[] {
  if (request.kind === 'choice')
    return (request.options ?? []).map((option, at) => ({
      optionId: String(at),
      name: optionText(option),
      kind: 'allow_once',
    }))
  const canGrant = offeredGrants(request.about).length > 0
  return [
    { optionId: 'once', name: 'Allow', kind: 'allow_once' },
    ...(canGrant
      ? [
          { optionId: 'session', name: 'Allow in this session', kind: 'allow_always' } as const,
          { optionId: 'always', name: 'Always allow', kind: 'allow_always' } as const,
        ]
      : []),
    { optionId: 'reject', name: 'Reject', kind: 'reject_once' },
  ]
}

export function answerOfOption({ kind, options = [] }: RequestData, optionId: string): Json {
  if (kind === 'choice') return options[Number(optionId)] ?? null
  if (optionId === 'once') return true
  if (optionId === 'session' || optionId === 'always') return { approved: true, scope: optionId }
  return { approved: false }
}
