/**
 * Decides whether a call of a round runs, asks or is rejected: by the policies of the turn and of the turns above it,
 * then by the tool's own rule. Every question is opened here.
 */
import type { MaybePromise } from '../base/index.ts'
import { type Call, isSameCall } from '../journal/index.ts'
import { givenApproval, request } from '../loop/index.ts'
import {
  canonical,
  defined,
  type EntryOf,
  type JsonObject,
  type Principal,
  patternsOf,
  type RequestData,
} from '../protocol/index.ts'
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
import { frozenInput } from './frozen-copy.ts'
import { recordGrounds } from './grounding.ts'
import { lastOf } from './last-of.ts'
import { isReceivedOtherwise, type ReadyCall } from './ready-call.ts'
import type { TurnRun } from './turn-run.ts'

/** The call if it may start now. Otherwise it was rejected, or a person is asked. */
export function approved(run: TurnRun, ready: ReadyCall): MaybePromise<ReadyCall | undefined> {
  const given = givenApproval(ready.call)
  if (given?.approved) return stillApproved(run, ready)
  if (given !== undefined) {
    const reason = given.reason === undefined ? '' : ` (${given.reason})`
    reject(run, ready.call, {
      why: `Not approved${reason}.`,
      advice: 'Do not repeat it; ask what to do instead.',
    })
    if (given.stop) stopTurn(run, ready.call, { by: 'approval', ...defined({ reason: given.reason }) })
    return undefined
  }
  if (
    approvalsOf(run).policies.length === 0 &&
    !mayHaveHappened(run, ready) &&
    ready.tool.approve === 'never'
  )
    return ready
  return decide(run, ready)
}

/** Ends the turn if the person rejected a question of this call in order to stop it. */
export function stopIfAsked(run: TurnRun, call: Call | undefined): void {
  const isStop = call?.answers?.some(
    ({ kind, how, value }) => kind === 'confirmation' && how === 'answered' && confirmationIn(value).stop,
  )
  if (call !== undefined && isStop) stopTurn(run, call, { by: 'approval' })
}

/** `agreed`: the question that a person has agreed to; it is not asked again as long as it stays the same. */
async function decide(
  run: TurnRun,
  ready: ReadyCall,
  agreed?: EntryOf<'request.start'>,
): Promise<ReadyCall | undefined> {
  const { call, tool } = ready
  const { policies } = approvalsOf(run)
  const decision = policies.length === 0 ? undefined : await decidePolicies(run, ready, policies)
  if (decision?.decision === 'deny') {
    deny(run, call, decision)
    return undefined
  }
  const asked = mayHaveHappened(run, ready) ? repeatQuestion(tool) : await questionOf(run, ready, decision)
  if (asked === undefined) return ready
  const question = await withPreview(run, ready, asked)
  if (agreed !== undefined && isSameQuestion(run.redacted(question), agreed.data)) return ready
  if (agreed !== undefined) {
    const message = `${tool.name}: its schema makes other arguments of the call now than it did when a person agreed to it. The person is asked again.`
    run.draft.append('warning', { code: 'approval-outdated', message })
  }
  ask(run, ready, question)
  return undefined
}

type ApprovalQuestion = Pick<RequestData, 'prompt'> & { readonly about: JsonObject }

async function withPreview(
  run: TurnRun,
  ready: ReadyCall,
  { question, grants }: Asked,
): Promise<ApprovalQuestion> {
  const { call, tool } = ready
  const preview = await run.within(previewOf(previewRun(run, ready)))
  const about = {
    tool: tool.name,
    args: call.args,
    ...(grants.length === 0 ? {} : { grants }),
    ...(preview === undefined ? {} : { preview }),
  }
  return { prompt: question, about }
}

function isSameQuestion(now: ApprovalQuestion, { prompt, about = {} }: RequestData): boolean {
  return prompt === now.prompt && canonical(about) === canonical(now.about)
}

function ask(
  run: TurnRun,
  { call, input, argsKey, inputKey = argsKey }: ReadyCall,
  question: ApprovalQuestion,
): void {
  recordGrounds(run, call)
  run.scope.callArguments.keepInput(call, input)
  const before = call.answers?.filter(({ from }) => from === 'approval').length ?? 0
  const id = before === 0 ? 'approval' : `approval-${before + 1}`
  request(run, { ...question, id, from: 'approval', kind: 'confirmation', inputKey }, call.callId)
}

/**
 * The call, unless the person would be asked something else now: its arguments are converted differently, or an
 * identical earlier one became unknown, or got its late result, after the question.
 */
async function stillApproved(run: TurnRun, ready: ReadyCall): Promise<ReadyCall | undefined> {
  const { call, tool } = ready
  const entries = await entriesSoFar(run)
  const asked = lastOf(entries, 'request.start', ({ data }) => {
    return data.callId === call.callId && data.from === 'approval'
  })
  if (asked !== undefined && isReceivedOtherwise(call, ready)) return decide(run, ready, asked)
  if (tool.replay !== 'never') return ready
  const since = entries.filter(({ seq }) => seq > (asked?.seq ?? 0))
  const isSame = (callId: string): boolean => {
    const { argsKey, inputKey } =
      lastOf(entries, 'tool.start', ({ data }) => data.callId === callId)?.data ?? {}
    return argsKey !== undefined && isSameCall({ argsKey, ...defined({ inputKey }) }, ready)
  }
  const late = lastOf(since, 'tool.late', ({ data }) => isSame(data.callId))
  const duplicates = unknownDuplicates(run, ready)
  const isUnknown = lastOf(since, 'tool.end', ({ data }) => duplicates.includes(data.callId)) !== undefined
  if (late === undefined && !isUnknown) return ready
  ask(run, ready, await withPreview(run, ready, repeatQuestion(tool, late?.data.status)))
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
function unknownDuplicates(run: TurnRun, ready: ReadyCall): readonly string[] {
  const { unknown } = run.session
  if (unknown === undefined || ready.tool.replay !== 'never') return []
  return unknown.flatMap((other) => (isSameCall(other, ready) && !other.repeated ? [other.callId] : []))
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
  const about = { tool: tool.name, input: frozenInput(input), principal, callId: call.callId }
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
    input: frozenInput(input),
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
  const { secrets, cancelledOrTimedOut: signal } = run
  return { tool, input: frozenInput(input), timer: run.scope.timer, signal, secrets }
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
