/** The state of a task: its channels, and how a run of it ended. */
import {
  type Channel,
  type ConstantChannel,
  constant,
  type ListChannel,
  list,
  type StateOf,
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
}

export type TaskChannels = {
  readonly messages: ListChannel<Message>
  /** Set once: no node changes it. */
  readonly task: ConstantChannel<string>
  readonly plan: Channel<string>
  /** The number of plans made so far. */
  readonly planIteration: Channel<number>
  readonly maxContextTokens: ConstantChannel<number>
  readonly finalAnswer: Channel<string | null>
  /** Null: no verdict could be given. */
  readonly isVerified: Channel<boolean | null>
  /** As the todo tools wrote it. */
  readonly todoList: Channel<string | null>
  /** Replies in a row without a call. */
  readonly nudges: Channel<number>
  readonly attempts: ListChannel<Attempt>
}

export const TASK_CHANNELS: TaskChannels = {
  messages: list(),
  task: constant(),
  plan: value(''),
  planIteration: value(0),
  maxContextTokens: constant(),
  finalAnswer: value<string | null>(null),
  isVerified: value<boolean | null>(false),
  todoList: value<string | null>(null),
  nudges: value(0),
  attempts: list(),
}

export type TaskState = StateOf<TaskChannels>

export function attemptOf(answer: string, verdict: Verdict | undefined): Attempt {
  return {
    answer,
    isVerified: verdict?.verified ?? null,
    unmet: verdict?.unmet ?? [],
    evidence: verdict?.evidence ?? [],
  }
}
