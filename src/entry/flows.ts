/** `holdfast/flows`: flows that are ready to use. */
export type {
  Attempt,
  Criterion,
  InstructedTool,
  PromptNode,
  TaskAgentConfig,
  TaskEnd,
  TaskResults,
  TaskRunOptions,
  TaskState,
  ToolInstructions,
} from '../flow/plan-verify/index.ts'
export { runTask, TaskAgent, withInstructions } from '../flow/plan-verify/index.ts'
