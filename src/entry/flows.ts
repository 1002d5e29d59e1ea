/** `holdfast/flows`: flows that are ready to use. */
export type {
  ExplorationOptions,
  ExplorationPreview,
  ExplorationResults,
  ExploredFile,
  FileCategory,
  FlowEnd,
  FlowOptions,
  SizeTier,
} from '../flow/exploration/index.ts'
export { exploration } from '../flow/exploration/index.ts'
export type {
  Attempt,
  Criterion,
  InstructedTool,
  PromptNode,
  TaskAgentConfig,
  TaskChannels,
  TaskEnd,
  TaskFlow,
  TaskGraph,
  TaskResults,
  TaskRunOptions,
  TaskState,
  ToolInstructions,
} from '../flow/plan-verify/index.ts'
export { runTask, TaskAgent, taskFlow, withInstructions } from '../flow/plan-verify/index.ts'
export type {
  Reflection,
  ReflexionOptions,
  ReflexionResults,
  ReflexionSearch,
  Searched,
} from '../flow/reflexion/index.ts'
export { reflexion } from '../flow/reflexion/index.ts'
