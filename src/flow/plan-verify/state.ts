/** The state of a task: its channels, and the input that begins a round of it. */
import {
  type Channel,
  type InputOf,
  type ListChannel,
  list,
  reduce,
  type StateOf,
  type ValueChannel,
  value,
} from '../../graph/index.ts'
import type { Message } from '../../protocol/index.ts'
import type { Verdict } from './verdict.ts'

/** An answer that was given by attempt_completion, and what the verification said of it. */
export type Attempt = {
  readonly answer: string
  /** Null: there was no verdict. */
  readonly isVerified: boolean | null
  readonly unmet: readonly string[]
  readonly evidence: readonly string[]
  /** The criteria, if some were run, and the model, if it was asked. */
  readonly checkedBy: readonly ('criteria' | 'model')[]
}

export type TaskChannels = {
  readonly messages: ListChannel<Message>
  /** The task of this round: each input begins one. No node changes it. */
  readonly task: ValueChannel<string>
  readonly plan: Channel<string>
  /** The number of plans made so far. */
  readonly planIteration: Channel<number>
  readonly maxContextTokens: ValueChannel<number>
  readonly finalAnswer: Channel<string | null>
  /** False until the verification has passed. Null: no verdict could be given. */
  readonly isVerified: Channel<boolean | null>
  /** As the todo tools wrote it. */
  readonly todoList: Channel<string | null>
  /** Replies in a row without a call. */
  readonly nudges: Channel<number>
  /** Those of this round: an empty update removes them. */
  readonly attempts: Channel<readonly Attempt[]>
}

export const TASK_CHANNELS: TaskChannels = {
  messages: list(),
  task: value(),
  plan: value(''),
  planIteration: value(0),
  maxContextTokens: value(),
  finalAnswer: value<string | null>(null),
  isVerified: value<boolean | null>(false),
  todoList: value<string | null>(null),
  nudges: value(0),
  attempts: reduce<readonly Attempt[]>(
    (current, added) => (added.length === 0 ? [] : [...current, ...added]),
    [],
  ),
}

export type TaskState = StateOf<TaskChannels>

/** The tool that ends the work of the agent. */
export const COMPLETION = 'attempt_completion'

/** The input of a round: the messages so far stay, and everything else begins anew. */
export function roundInput(task: string, maxContextTokens: number): InputOf<TaskChannels> {
  return {
    task,
    maxContextTokens,
    messages: [{ role: 'user', content: task }],
    plan: '',
    planIteration: 0,
    finalAnswer: null,
    isVerified: false,
    todoList: null,
    nudges: 0,
    attempts: [],
  }
}

export function attemptOf(
  answer: string,
  verdict: Verdict | undefined,
  checkedBy: Attempt['checkedBy'],
): Attempt {
  return {
    answer,
    checkedBy,
    isVerified: verdict?.verified ?? null,
    unmet: verdict?.unmet ?? [],
    evidence: verdict?.evidence ?? [],
  }
}
