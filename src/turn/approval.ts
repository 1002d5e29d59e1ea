/**
 * Decides whether a call of a round runs, asks or is rejected: by the policies of the turn and of the turns above it,
 * then by the tool's own rule. Every question is opened here.
 */
import type { MaybePromise } from '../base/index.ts'
import type { Call } from '../journal/index.ts'
import { givenApproval, request } from '../loop/index.ts'
import { defined, type Principal, patternsOf } from '../protocol/index.ts'
import {
  type Approvals,
  approvalOf,
  type CallDecision,
  confirmationIn,
  decideCall,
  isControlTool,
  type NamedPolicy,
  previewOf,
  type Tool,
} from '../tool/index.ts'
import { entriesSoFar } from './context-fill.ts'
import { recordGrounds } from './grounding.ts'
import { lastOf } from './last-of.ts'
import type { ReadyCall } from './ready-call.ts'
import type { TurnRun } from './turn-run.ts'

/** The call if it may start now. Otherwise it was rejected, or a person is asked. */
export function approved(run: TurnRun, ready: ReadyCall): MaybePromise<ReadyCall | undefined> {
  const given = givenApproval(ready.call)
  if (given?.approved) return ready.tool.replay === 'never' ? stillApproved(run, ready) : ready
  if (given !== undefined) {
    const reason = given.reason === undefined ? '' : ` (${given.reason})`
    reject(run, ready.call, {
      why: `Not approved${reason}.`,
      advice: 'Do not repeat it; ask what to do instead.',
    })
    if (given.stop) stopTurn(run, ready.call, { by: 'approval', ...defined({ reason: given.reason }) })
    return undefined
  }
  const { policies } = approvalsOf(run)
  if (policies.length === 0 && !mayHaveHappened(run, ready) && ready.tool.approve === 'never') return ready
  return decide(run, ready, policies)
}

/** Ends the turn if the person rejected a question of this call in order to stop it. */
export function stopIfAsked(run: TurnRun, call: Call | undefined): void {
  const isStop = call?.answers?.some(
    ({ kind, how, value }) => kind === 'confirmation' && how === 'answered' && confirmationIn(value).stop,
  )
  if (call !== undefined && isStop) stopTurn(run, call, { by: 'approval' })
}

async function decide(
  run: TurnRun,
  ready: ReadyCall,
  policies: readonly NamedPolicy[],
): Promise<ReadyCall | undefined> {
  const { call, tool } = ready
  const decision = policies.length === 0 ? undefined : await decidePolicies(run, ready, policies)
  if (decision?.decision === 'deny') {
    deny(run, call, decision)
    return undefined
  }
  const asked = mayHaveHappened(run, ready) ? repeatQuestion(tool) : await questionOf(run, ready, decision)
  if (asked === undefined) return ready
  await askFor(run, ready, asked)
  return undefined
}

async function askFor(run: TurnRun, ready: ReadyCall, asked: Asked): Promise<void> {
  const { call, tool } = ready
  const preview = await run.within(previewOf(previewRun(run, ready)))
  recordGrounds(run, call)
  const about = {
    tool: tool.name,
    args: call.args,
    ...(asked.grants.length === 0 ? {} : { grants: asked.grants }),
    ...(preview === undefined ? {} : { preview }),
  }
  const prompt = asked.question
  const before = call.answers?.filter(({ from }) => from === 'approval').length ?? 0
  const id = before === 0 ? 'approval' : `approval-${before + 1}`
  request(run, { id, from: 'approval', kind: 'confirmation', prompt, about }, call.callId)
}

/**
 * The call, unless an identical earlier one became unknown, or got its late result, after the question: then the person
 * is asked once more.
 */
async function stillApproved(run: TurnRun, ready: ReadyCall): Promise<ReadyCall | undefined> {
  const entries = await entriesSoFar(run)
  const asked = lastOf(
    entries,
    'request.start',
    ({ data }) => data.callId === ready.call.callId && data.from === 'approval',
  )
  const since = entries.filter(({ seq }) => seq > (asked?.seq ?? 0))
  const isSame = (callId: string) =>
    lastOf(entries, 'tool.start', ({ data }) => data.callId === callId)?.data.argsKey === ready.argsKey
  const late = lastOf(since, 'tool.late', ({ data }) => isSame(data.callId))
  const duplicates = unknownDuplicates(run, ready)
  const isUnknown = lastOf(since, 'tool.end', ({ data }) => duplicates.includes(data.callId)) !== undefined
  if (late === undefined && !isUnknown) return ready
  await askFor(run, ready, repeatQuestion(ready.tool, late?.data.status))
  return undefined
}

/** `status`: that of the late result of the same call, if it has one. */
function repeatQuestion(tool: Tool, status?: string): Asked {
  const known =
    status === undefined ? 'nobody knows whether it happened' : `its result came meanwhile: ${status}`
  const question = `${tool.name} was started before with the same arguments, and ${known}. Run it again?`
  return { question, grants: [] }
}

/** True if the same call was started before and has no known outcome (R4): no policy answers for that. */
function mayHaveHappened(run: TurnRun, ready: ReadyCall): boolean {
  return unknownDuplicates(run, ready).length > 0
}

/** The calls of this tool with these arguments that have no known outcome. */
function unknownDuplicates(run: TurnRun, { tool, argsKey }: ReadyCall): readonly string[] {
  const { unknown } = run.session
  if (unknown === undefined || tool.replay !== 'never') return []
  return unknown.flatMap((other) => (other.argsKey === argsKey && !other.repeated ? [other.callId] : []))
}

interface Asked {
  readonly question: string
  readonly grants: readonly string[]
}

async function questionOf(
  run: TurnRun,
  { call, tool, input }: ReadyCall,
  decision: CallDecision | undefined,
): Promise<Asked | undefined> {
  if (decision?.decision === 'ask') return decision
  if (decision?.decision === 'allow' || tool.approve === 'never') return undefined
  const { principal } = await run.info()
  const about = { tool: tool.name, input, principal, callId: call.callId }
  await run.credentials()
  const question = await run.within(
    approvalOf(tool, about, { secrets: run.secrets, onFailed: (message) => warn(run, message) }),
  )
  return question === undefined ? undefined : { question, grants: [] }
}

async function decidePolicies(
  run: TurnRun,
  { call, tool, input }: ReadyCall,
  policies: readonly NamedPolicy[],
): Promise<CallDecision | undefined> {
  const { principal, contextId } = await run.info()
  await run.credentials()
  const { origin } = tool
  const about = {
    tool: tool.name,
    input,
    principal,
    callId: call.callId,
    contextId,
    isPublic: tool.public === true,
    asks: tool.approve !== 'never',
    isControl: isControlTool(tool),
  }
  return run.within(
    decideCall(policies, origin === undefined ? about : { ...about, origin }, {
      secrets: run.secrets,
      granted: async () => new Set(await approvalsOf(run).granted(principal)),
      onFailed: (message) => warn(run, message),
    }),
  )
}

function warn(run: TurnRun, message: string): void {
  run.draft.append('warning', { code: 'approve-failed', message })
}

function previewRun(run: TurnRun, { tool, input }: ReadyCall): Parameters<typeof previewOf>[0] {
  return { tool, input, timer: run.scope.timer, signal: run.cancelledOrTimedOut, secrets: run.secrets }
}

function deny(
  run: TurnRun,
  call: Call,
  { reason, stop, by }: Extract<CallDecision, { decision: 'deny' }>,
): void {
  const why = reason === undefined ? '' : `: ${run.secrets.text(reason)}`
  reject(run, call, {
    why: `Denied by ${by}${why.replace(/\.$/, '')}.`,
    advice: 'Do not repeat it; find another way, or ask.',
  })
  if (stop) stopTurn(run, call, { by, ...defined({ reason }) })
}

/** Ends the turn; calls that have not started are not run. */
function stopTurn(
  run: TurnRun,
  { callId }: Call,
  stop: { readonly by: string; readonly reason?: string },
): void {
  if (run.open.stop === undefined) run.draft.append('phase', { name: 'approval', callId, changes: { stop } })
}

interface Rejection {
  readonly why: string
  /** For the model; people read the reason alone. */
  readonly advice: string
}

function reject(run: TurnRun, { callId }: Call, { why, advice }: Rejection): void {
  run.draft.append('tool.end', { callId, status: 'rejected', output: `${why} ${advice}`, display: why })
}

/** The policies and grants that hold for the calls of this turn, and for those of the turns below it. */
export function approvalsOf(run: TurnRun): Approvals {
  const { definition, approvalsAbove: above, grants } = run.scope
  const { policies } = definition
  return {
    policies: above === undefined ? policies : [...above.policies, ...policies],
    granted: async (principal: Principal) => [
      ...patternsOf(run.session.grants ?? [], principal),
      ...patternsOf((await grants?.(principal).read()) ?? [], principal),
      ...((await above?.granted(principal)) ?? []),
    ],
  }
}
