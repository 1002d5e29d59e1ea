/**
 * Combines the decisions of approval policies about one call: the strictest wins, and a policy that fails asks. Knows
 * nothing of rules, and of grants only their texts.
 */
import { debugThrown } from '../base/index.ts'
import { MAX_PATTERN, type Principal } from '../protocol/index.ts'
import { usualQuestion } from './approval.ts'
import type { Redactor } from './redact.ts'
import { thrown } from './thrown.ts'
import type { ApprovalCall, ToolOrigin } from './tool.ts'

/** Decides about a call before the tool's own `approve`. Undefined: no opinion. If it throws, the person is asked. */
export type ApprovalPolicy = (
  call: PolicyCall,
) => PolicyDecision | undefined | Promise<PolicyDecision | undefined>

export interface PolicyCall extends ApprovalCall {
  readonly contextId: string
  readonly origin?: ToolOrigin
  /** The tool is `public`. */
  readonly isPublic?: boolean
  /** The tool's own `approve` may ask. */
  readonly asks?: boolean
  /** The tool is one of the runtime that acts on its conversation alone: completion, todo list, questions to the person. */
  readonly isControl?: boolean
}

export interface PolicyDecision {
  /** `allow`: runs without a question; the tool's own `approve` does not count. `deny`: never runs, approved or not. */
  readonly decision: 'allow' | 'ask' | 'deny'
  /** Read by the model if denied, by the person if asked. */
  readonly reason?: string
  /** With `ask`: the question. Default: the tool with its arguments. */
  readonly prompt?: string
  /** With `deny`: ends the turn. */
  readonly stop?: boolean
  /**
   * With `ask`: patterns that the person may grant beyond this call. If all of them have been granted, the call is
   * allowed. Two patterns are the same if their texts are, so a text has to say all that it covers.
   */
  readonly grants?: readonly string[]
}

export interface NamedPolicy {
  /** The name of the plugin. */
  readonly name: string
  readonly decide: ApprovalPolicy
}

/** The policies of a turn and of all turns above it, and the granted patterns that hold there. */
export interface Approvals {
  readonly policies: readonly NamedPolicy[]
  readonly granted: (principal: Principal) => Promise<readonly string[]>
}

export type CallDecision =
  | { readonly decision: 'allow' }
  | { readonly decision: 'ask'; readonly question: string; readonly grants: readonly string[] }
  | { readonly decision: 'deny'; readonly reason?: string; readonly stop: boolean; readonly by: string }

export interface JudgeOptions {
  readonly secrets: Redactor
  /** The granted patterns; looked up only for a policy that asks. */
  readonly granted: () => Promise<ReadonlySet<string>>
  /** Receives the failure of a policy: for its author. */
  readonly onFailed: (why: string) => void
}

/** The strictest decision; undefined if no policy has an opinion. Rejects only if the grants cannot be read. */
export async function decideCall(
  policies: readonly NamedPolicy[],
  call: PolicyCall,
  options: JudgeOptions,
): Promise<CallDecision | undefined> {
  const asks: Asking[] = []
  let denied: Extract<CallDecision, { decision: 'deny' }> | undefined
  let isAllowed = false
  for (const policy of policies) {
    const decided = await whenLeft(policy, call, options)
    if (decided === undefined) continue
    const { decision, reason, stop = false } = decided
    if (decision === 'deny') {
      if (denied === undefined || (stop && !denied.stop))
        denied = { decision, stop, by: policy.name, ...(reason === undefined ? {} : { reason }) }
    } else if (decision === 'ask' && !(await isGranted(decided, options))) asks.push(decided)
    else isAllowed = true
  }
  if (denied !== undefined) return denied
  if (asks.length > 0) return askingAll(asks, call, options.secrets)
  return isAllowed ? { decision: 'allow' } : undefined
}

type Asking = Pick<PolicyDecision, 'prompt' | 'reason' | 'grants'>

async function whenLeft(
  { name, decide }: NamedPolicy,
  call: PolicyCall,
  { secrets, onFailed }: JudgeOptions,
): Promise<PolicyDecision | undefined> {
  try {
    const decided: unknown = await decide(call)
    if (decided === undefined) return undefined
    if (isDecision(decided)) return decided
    throw new TypeError("it must return undefined or { decision: 'allow', 'ask' or 'deny' }")
  } catch (error) {
    const source = `The approval policy ${name}`
    debugThrown(source, error)
    onFailed(`${source} failed: ${thrown(error, secrets, 'It').error}`)
    return { decision: 'ask', reason: `You are asked because the approval policy ${name} failed.` }
  }
}

function isDecision(value: unknown): value is PolicyDecision {
  if (typeof value !== 'object' || value === null) return false
  const { decision, reason, prompt, stop, grants } = value as Partial<Record<keyof PolicyDecision, unknown>>
  return (
    (decision === 'allow' || decision === 'ask' || decision === 'deny') &&
    [reason, prompt].every((text) => text === undefined || typeof text === 'string') &&
    (stop === undefined || typeof stop === 'boolean') &&
    (grants === undefined || (Array.isArray(grants) && grants.every((each) => typeof each === 'string')))
  )
}

async function isGranted({ grants = [] }: Asking, { granted }: JudgeOptions): Promise<boolean> {
  if (grants.length === 0) return false
  const held = await granted()
  return grants.every((pattern) => held.has(pattern))
}

function askingAll(asks: readonly Asking[], call: PolicyCall, secrets: Redactor): CallDecision {
  const prompt = asks.find((one) => one.prompt !== undefined && one.prompt.trim() !== '')?.prompt
  const reasons = [...new Set(asks.flatMap(({ reason }) => reason ?? []))]
  const why = reasons.length === 0 ? '' : ` (${secrets.text(reasons.join(' '))})`
  const question = prompt === undefined ? usualQuestion(call, secrets) : secrets.text(prompt)
  const isGrantable = asks.every(({ grants = [] }) => grants.length > 0)
  const grants = isGrantable ? [...new Set(asks.flatMap((one) => one.grants ?? []))] : []
  // A redacted or shortened pattern would cover something else than the person reads.
  const isWhole = grants.every((text) => text.length <= MAX_PATTERN && secrets.text(text) === text)
  return { decision: 'ask', question: `${question}${why}`, grants: isWhole ? grants : [] }
}
