/** The task agent: plan, work, verify, plan again. */
export type { Criterion } from './criteria.ts'
export type { InstructedTool, ToolInstructions } from './instructions.ts'
export { withInstructions } from './instructions.ts'
export type { PromptNode } from './prompts.ts'
export type { TaskEnd, TaskResults } from './results.ts'
export type { Attempt, TaskChannels, TaskState } from './state.ts'
export type { TaskAgentConfig, TaskRunOptions } from './task-agent.ts'
export { runTask, TaskAgent } from './task-agent.ts'
