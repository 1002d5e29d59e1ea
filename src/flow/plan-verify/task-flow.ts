/** The task agent for a host: a message is a task, the reply is its answer; a further message is a further round. */
import type { JsonObject } from '../../protocol/index.ts'
import type { Store } from '../../store/index.ts'
import { replyOf } from './results.ts'
import type { TaskState } from './state.ts'
import { TaskAgent } from './task-agent.ts'
import type { TaskAgentConfig } from './task-config.ts'
import type { TaskGraph } from './task-graph.ts'

export interface TaskFlow {
  readonly build: (store: Store) => Promise<TaskGraph>
  readonly values: (task: string) => JsonObject
  readonly reply: (state: JsonObject) => string | undefined
}

/** `createHost({ store, flows: { task: taskFlow({ model }) } })`. */
export function taskFlow(config: Omit<TaskAgentConfig, 'store' | 'owner'>): TaskFlow {
  const agent = new TaskAgent(config)
  return {
    build: (store) => new TaskAgent({ ...config, store }).compile(),
    values: (task) => agent.valuesOf(task),
    reply: (state) => replyOf(state as unknown as TaskState) ?? undefined,
  }
}
