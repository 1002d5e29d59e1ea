/**
 * `holdfast/tool`: tools of the AI SDK, answers from plain text, and types inside the definition of a tool, its questions,
 * schemas and artifacts.
 */
export type { ArtifactChange } from '../protocol/index.ts'
export type {
  AiTool,
  AiToolOptions,
  ApprovalCall,
  ArtifactContent,
  ArtifactPort,
  ArtifactValue,
  AskKind,
  AskUserInput,
  AskUserOutput,
  ClientToolDefinition,
  DatasetOptions,
  FileOptions,
  PreviewContext,
  PreviousTool,
  ReturnValue,
  RunReturn,
  SchemaOutput,
  StandardIssue,
  StandardResult,
  ToolOrigin,
  ToolResultOptions,
  ToolSet,
  ToolsOption,
  VerifyResult,
} from '../tool/index.ts'
export { aiTool, answerFrom, clientTool, optionText, toolsFrom } from '../tool/index.ts'
