/** The results of a task: the answer, the verdict, and why the run ended. Read from the state, so a limit loses nothing. */
import type { GraphOutcome } from '../../graph/index.ts'
import { limitText, type Message, type RequestData, type Usage } from '../../protocol/index.ts'
import { lastText, newestRound } from './rounds.ts'
import type { Attempt, TaskChannels, TaskState } from './state.ts'
import { MOST_NUDGES } from './task-nodes.ts'

/**
 * `verified`, `not-verified`, `no-verdict`: the verifier ended the run. `limit`: steps, replans, replies without a call, time or
 * cost. `waiting`: `requests` are to be answered. `cancelled`, `failed`: `reason` says why; `resume` goes on.
 */
export type TaskEnd =
  | 'verified'
  | 'not-verified'
  | 'no-verdict'
  | 'limit'
  | 'waiting'
  | 'cancelled'
  | 'failed'

export interface TaskResults {
  /** The verified answer; else the best so far; null if there is none. */
  readonly finalAnswer: string | null
  /** The verdict on `finalAnswer`. Null: there is none, or not yet. */
  readonly isVerified: boolean | null
  readonly planIteration: number
  readonly plan: string
  readonly messages: readonly Message[]
  readonly todoList: string | null
  readonly ended: TaskEnd
  /** A sentence: why the run ended. */
  readonly reason: string
  /** Every answer that was given, with its verdict. */
  readonly attempts: readonly Attempt[]
  /** Questions and approvals to be answered. */
  readonly requests: readonly RequestData[]
  readonly usage: Usage
  /** True: `resume(contextId)`, or `answer`, goes on with it. False: it has ended. */
  readonly isResumable: boolean
  /** The conversation of the task. */
  readonly contextId: string
}

export interface ResultOptions {
  readonly contextId: string
  /** False if the run was refused before anything was stored. */
  readonly isStored: boolean
  readonly planning: boolean
  readonly maxReplans: number
}

export function resultsOf(
  { state, usage, requests, ...outcome }: GraphOutcome<TaskChannels>,
  options: ResultOptions,
): TaskResults {
  const { ended, reason } = endOf(state, { ...outcome, requests }, options)
  const { planIteration, plan, messages, todoList, attempts } = state
  return {
    finalAnswer: answerOf(state),
    isVerified: verdictOn(state),
    planIteration,
    plan,
    messages,
    todoList,
    ended,
    reason,
    attempts,
    requests,
    usage,
    isResumable: options.isStored && (outcome.status !== 'completed' || outcome.limit !== undefined),
    contextId: options.contextId,
  }
}

type Outcome = Omit<GraphOutcome<TaskChannels>, 'state' | 'usage'>

interface End {
  readonly ended: TaskEnd
  readonly reason: string
}

function endOf(state: TaskState, outcome: Outcome, { planning, maxReplans }: ResultOptions): End {
  const { status, error, limit } = outcome
  if (limit !== undefined)
    return { ended: 'limit', reason: `The limit on ${limitText(outcome)} was reached.` }
  if (status === 'failed' || status === 'cancelled')
    return { ended: status, reason: error?.message ?? `The run was ${status}.` }
  if (status !== 'completed') return { ended: 'waiting', reason: 'The run waits for an answer.' }
  if (state.nudges > MOST_NUDGES)
    return { ended: 'limit', reason: `The model gave ${state.nudges} replies in a row without a tool call.` }
  if (state.isVerified === true) return { ended: 'verified', reason: passedText(state) }
  if (state.isVerified === null) return { ended: 'no-verdict', reason: noVerdictText(state) }
  const unmet = unmetText(state)
  const why = unmet === '' ? 'The verification failed.' : `The verification failed: ${unmet}.`
  return planning && state.planIteration > maxReplans
    ? { ended: 'limit', reason: `${why} The limit of ${maxReplans} new plans was reached.` }
    : { ended: 'not-verified', reason: why }
}

function passedText(state: TaskState): string {
  const { criteria, model } = checkersOf(state)
  if (!criteria) return 'Verified by a model; no criterion was run.'
  return `Verified by the criteria${model ? ' and a model' : ''}.`
}

function noVerdictText(state: TaskState): string {
  const { criteria, model } = checkersOf(state)
  if (!model) return 'Nothing could verify the answer: give criteria, or a model that gives a verdict.'
  if (criteria) return 'The criteria passed, but the model gave no readable verdict.'
  return 'The model gave no readable verdict, and no criterion was run: give criteria, or another verifierModel.'
}

function checkersOf({ attempts }: TaskState): { readonly criteria: boolean; readonly model: boolean } {
  const checkedBy = attempts.at(-1)?.checkedBy ?? []
  return { criteria: checkedBy.includes('criteria'), model: checkedBy.includes('model') }
}

function unmetText({ attempts }: TaskState): string {
  return attempts.at(-1)?.unmet.join('; ') ?? ''
}

/** The verdict on the answer of `answerOf`. */
function verdictOn({ finalAnswer, attempts }: TaskState): boolean | null {
  const last = attempts.at(-1)
  const isAboutIt = last !== undefined && (finalAnswer === null || finalAnswer === last.answer)
  return isAboutIt ? last.isVerified : null
}

/** The answer in words: with what the verification said, unless it passed. */
export function replyOf(state: TaskState): string | null {
  const answer = answerOf(state)
  const verdict = verdictOn(state)
  if (answer === null || verdict === true) return answer
  const why = verdict === null ? 'there was no verdict' : unmetText(state) || 'the verification failed'
  return `${answer}\n\nNot verified: ${why}.`
}

/** The verified answer; else the best so far; null if there is none. */
function answerOf({ finalAnswer, attempts, messages }: TaskState): string | null {
  return finalAnswer ?? attempts.at(-1)?.answer ?? lastText(newestRound(messages))
}
